"""``metro record``: a corpus from nothing but a benchmark, a variant and a seed.

Finished episodes wait in ``.NAME.partial`` beside the output; the same command resumes
from them. When all are there they become one HDF5 file, written under another name and
then renamed, so that NAME is never half a corpus.
"""

import shutil
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path

from metro.benchmark import Benchmark
from metro.data.collect.episode import Episode, load_episode
from metro.data.collect.hdf5_writer import write_corpus
from metro.data.collect.spec import RecordingSpec
from metro.data.collect.workers import (
    episode_file,
    record_episodes,
)
from metro.data.formats.hdf5_layout import SETTINGS
from metro.envs.rendering import Renderer, find_renderer
from metro.errors import BenchmarkError, StorageError, one_line
from metro.storage.atomic import sync, write_atomically
from metro.storage.lock import only_writer
from metro.storage.parts import discard_unless, mark, warn_of_damage
from metro.types import Progress


def record(  # noqa: PLR0913  (one argument per setting, as the verb has them)
    benchmark: Benchmark,
    path: str | Path,
    *,
    episodes: int,
    seed: int = 0,
    recipe: str | None = None,
    image_size: int = 224,
    rendering: str = "stock",
    steps: int | None = None,
    workers: int = 1,
    progress: Progress | None = None,
    force: bool = False,
) -> None:
    """Record a corpus of ``benchmark`` to the HDF5 file ``path``.

    The bytes depend on the settings alone: not on the number of workers, not on
    interruptions, and not on which x86 processor it is. Decision: D30.

    Args:
        benchmark: The benchmark to record.
        path: The file to create.
        episodes: Number of episodes.
        seed: Random seed; episode e draws from the pair (seed, e).
        recipe: Name of a dataset variant; None takes the benchmark's first.
        image_size: Pixels along a side; 224 as released.
        rendering: ``stock`` as released, or ``fast`` where the benchmark has it.
        steps: Most environment steps of an episode; None takes the benchmark's.
        workers: Number of worker processes. With 1 this process records itself, if
            it was started with the arithmetic of recordings.
        progress: Called with episodes (done, total).
        force: Replace a corpus that metro recorded; never anything else.
    """
    path = Path(path)
    spec = RecordingSpec(
        benchmark,
        episodes,
        seed,
        recipe or benchmark.recipes[0],
        image_size,
        rendering,
        steps or benchmark.episode_steps,
    )
    if workers < 1:
        raise BenchmarkError(f"workers must be 1 or more, got {workers}.")
    _require_free(path, force=force)
    # Found once and handed to all workers: frames of two renderers differ.
    renderer = find_renderer(benchmark)
    try:
        with only_writer(path):
            folder = _open_folder(path, spec.describe(str(renderer)))
            _record_missing(spec, folder, workers, progress, renderer)
            _assemble(spec, folder, path, str(renderer))
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written: {one_line(error)}. What was recorded is kept; "
            f"the same command resumes from there."
        ) from error


def _require_free(path: Path, *, force: bool) -> None:
    if not path.parent.is_dir():
        raise StorageError(f"The folder {path.parent} does not exist. Make it first.")
    if not path.exists():
        return
    if not force:
        raise StorageError(
            f"{path} exists already. Replace it with force=True (--force)."
        )
    if not _is_ours(path):
        raise StorageError(
            f"{path} exists and is not a corpus that metro recorded; it will not be "
            f"replaced, not even by force. Move it away or choose another name."
        )


def _is_ours(path: Path) -> bool:
    import h5py

    if not path.is_file() or not h5py.is_hdf5(path):
        return False
    with h5py.File(path, "r") as stream:
        return SETTINGS in stream.attrs


def _open_folder(path: Path, key: str) -> Path:
    """Return the folder of finished episodes; those of other settings are deleted."""
    folder = path.with_name(f".{path.name}.partial")
    discard_unless(folder, key)
    mark(folder, key)
    return folder


def _record_missing(
    spec: RecordingSpec,
    folder: Path,
    workers: int,
    progress: Progress | None,
    renderer: Renderer,
) -> None:
    numbers = range(spec.episodes)
    files = {number: episode_file(folder, number) for number in numbers}
    kept = [number for number in numbers if files[number].exists()]
    whole = {number for number in kept if load_episode(files[number]) is not None}
    warn_of_damage(folder, len(kept) - len(whole))
    missing = [number for number in numbers if number not in whole]
    workers = min(workers, len(missing))
    recorded = record_episodes(
        spec, folder, missing, workers=workers, renderer=renderer
    )
    # Closed explicitly: an error in `progress` must end the workers now.
    with closing(recorded):
        for finished, _ in enumerate(chain([None], recorded), start=len(whole)):
            if progress is not None:
                progress(finished, spec.episodes)


def _assemble(spec: RecordingSpec, folder: Path, path: Path, renderer: str) -> None:
    """Write all episodes to ``path``: the file appears whole or not at all."""
    write_atomically(
        path,
        lambda place: write_corpus(
            place,
            _episodes(spec, folder),
            image_size=spec.image_size,
            settings=spec.describe(renderer),
        ),
    )
    sync(path.parent)


def _episodes(spec: RecordingSpec, folder: Path) -> Iterator[Episode]:
    for number in range(spec.episodes):
        episode = load_episode(episode_file(folder, number))
        if episode is None:
            raise OSError(f"the disk has damaged episode {number}")
        yield episode
