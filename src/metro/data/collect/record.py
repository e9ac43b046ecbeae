"""``metro record``: a corpus from nothing but a benchmark, a variant and a seed.

Finished episodes wait beside the output (`metro.data.collect.assembly`); the same
command resumes from them.
"""

import shutil
from contextlib import closing
from itertools import chain
from pathlib import Path

from metro.benchmark import Benchmark
from metro.data.collect.assembly import (
    assemble,
    find_missing,
    open_folder,
    require_free,
)
from metro.data.collect.spec import RecordingSpec
from metro.data.collect.workers import record_episodes
from metro.envs.rendering import Renderer, find_renderer
from metro.errors import BenchmarkError, StorageError, one_line
from metro.storage.lock import only_writer
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
    require_free(path, force=force)
    # Found once and handed to all workers: frames of two renderers differ.
    renderer = find_renderer(benchmark)
    try:
        with only_writer(path):
            folder = open_folder(path, spec.describe(str(renderer)))
            _record_missing(spec, folder, workers, progress, renderer)
            _assemble(spec, folder, path, str(renderer))
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written: {one_line(error)}. What was recorded is kept; "
            f"the same command resumes from there."
        ) from error


def _record_missing(
    spec: RecordingSpec,
    folder: Path,
    workers: int,
    progress: Progress | None,
    renderer: Renderer,
) -> None:
    missing = find_missing(folder, spec.episodes)
    kept = spec.episodes - len(missing)
    workers = min(workers, len(missing))
    recorded = record_episodes(
        spec, folder, missing, workers=workers, renderer=renderer
    )
    # Closed explicitly: an error in `progress` must end the workers now.
    with closing(recorded):
        for finished, _ in enumerate(chain([None], recorded), start=kept):
            if progress is not None:
                progress(finished, spec.episodes)


def _assemble(spec: RecordingSpec, folder: Path, path: Path, renderer: str) -> None:
    assemble(
        folder,
        path,
        episodes=spec.episodes,
        image_size=spec.image_size,
        settings=spec.describe(renderer),
    )
