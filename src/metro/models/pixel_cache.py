"""Training data from a corpus: pixels decoded once to disk, states by benchmark."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.benchmark import benchmark_names, load_benchmark
from metro.errors import StorageError, one_line
from metro.models.sequences import TrajectoryDataset
from metro.storage.atomic import write_atomically
from metro.storage.lock import only_writer
from metro.types import CorpusLike, Progress

NamedStates = tuple[NDArray[np.float32], tuple[str, ...]]


def dataset_from_corpus(corpus: CorpusLike) -> TrajectoryDataset:
    """Return a corpus as training takes it, its pixels in an ``.npy`` beside it."""
    # First: a corpus that lacks a column fails before its pixels are decoded.
    states = state_targets(corpus)
    return TrajectoryDataset(
        cache_pixels(corpus),
        np.asarray(corpus.column("action"), dtype=np.float32),
        corpus.lengths,
        None if states is None else states[0],
        () if states is None else states[1],
        benchmark=corpus.benchmark,
        rendering=corpus.rendering or "stock",
        source={
            # Without the folder: a corpus that was moved must give the same model file.
            "name": Path(corpus.name).name,
            "digest": corpus.digest,
            "settings": dict(corpus.settings),
        },
    )


def cache_pixels(
    corpus: CorpusLike, *, progress: Progress | None = None
) -> NDArray[np.uint8]:
    """Return all frames ``[N, S, S, 3]``, memory-mapped from an uncompressed file.

    It is written beside the corpus as ``NAME.pixels.npy``, once; a cache of another
    corpus of that name is written again.
    """
    place = Path(f"{corpus.name}.pixels.npy")
    note = Path(f"{corpus.name}.pixels.json")
    key = {"digest": corpus.digest, "frames": corpus.num_frames}
    if not _is_of(key, place, note):
        try:
            with only_writer(place, wait=True):
                # Another process may have made it meanwhile.
                if not _is_of(key, place, note):
                    write_atomically(place, lambda new: _decode(corpus, new, progress))
                    # Last: an interruption leaves no valid note, and it is made again.
                    write_atomically(note, json.dumps(key).encode())
        except OSError as error:
            raise StorageError(
                f"{place} was not written: {one_line(error)}. It needs "
                f"{_num_bytes(corpus) / 1e9:.1f} GB beside the corpus."
            ) from error
    # A plain array over the same map: slices of np.memmap take longer to make.
    return np.asarray(np.load(place, mmap_mode="r"))


def _decode(corpus: CorpusLike, place: Path, progress: Progress | None) -> None:
    size = corpus.image_size
    frames = np.lib.format.open_memmap(
        place, mode="w+", dtype=np.uint8, shape=(corpus.num_frames, size, size, 3)
    )
    for episode in range(corpus.num_episodes):
        first = corpus.offsets[episode]
        frames[first : first + corpus.lengths[episode]] = corpus.frames(episode)
        if progress is not None:
            progress(episode + 1, corpus.num_episodes)
    frames.flush()


def _is_of(key: Mapping[str, Any], place: Path, note: Path) -> bool:
    """Return whether the cache is there and of this corpus."""
    try:
        return place.exists() and json.loads(note.read_text()) == key
    except (ValueError, FileNotFoundError):
        # A note that a crash cut short is as good as none.
        return False


def _num_bytes(corpus: CorpusLike) -> int:
    return corpus.num_frames * corpus.image_size**2 * 3


def state_targets(corpus: CorpusLike) -> NamedStates | None:
    """Return the true states that probes learn to predict, and their names.

    The benchmark's TOML says which columns they are; None if the benchmark is unknown.
    """
    if corpus.benchmark not in benchmark_names():
        return None
    targets = load_benchmark(corpus.benchmark).state_targets
    columns = [_read_target(corpus, target) for target in targets]
    names = tuple(name for target in targets for name in target["names"])
    return np.column_stack(columns).astype(np.float32), names


def _read_target(corpus: CorpusLike, target: Mapping[str, Any]) -> NDArray[Any]:
    values = corpus.column(target["column"])
    if "part" in target:
        first, end = target["part"]
        values = values[:, first:end]
    function = getattr(np, target.get("function", "asarray"))
    return np.asarray(function(values))
