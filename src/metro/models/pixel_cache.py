"""Footage from a corpus: pixels decoded once to disk, states named per benchmark."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.errors import StorageError
from metro.models.sequences import TrajectoryDataset
from metro.storage.atomic import write_atomically
from metro.types import CorpusLike, Progress

States = tuple[NDArray[np.float32], tuple[str, ...]]


def dataset_from_corpus(
    corpus: CorpusLike, *, progress: Progress | None = None
) -> TrajectoryDataset:
    """Return a corpus as training takes it, its pixels in an ``.npy`` beside it.

    Args:
        corpus: As `metro.data.corpus.open_corpus` returns it.
        progress: Called with (done, total) episodes while pixels are decoded.
    """
    states = state_targets(corpus)
    return TrajectoryDataset(
        cache_pixels(corpus, progress=progress),
        np.asarray(corpus.column("action"), dtype=np.float32),
        corpus.lengths,
        None if states is None else states[0],
        () if states is None else states[1],
        benchmark=corpus.benchmark,
        rendering=corpus.rendering or "stock",
        source={
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
    corpus of that name is written anew.
    """
    place = Path(f"{corpus.name}.pixels.npy")
    note = Path(f"{corpus.name}.pixels.json")
    key = {"digest": corpus.digest, "frames": corpus.num_frames}
    if not place.exists() or not note.exists() or _read_note(note) != key:
        try:
            write_atomically(place, lambda new: _decode(corpus, new, progress))
            note.write_text(json.dumps(key))
        except OSError as error:
            raise StorageError(
                f"{place} was not written: {error}. It needs "
                f"{_num_bytes(corpus) / 1e9:.1f} GB beside the corpus."
            ) from error
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


def _read_note(note: Path) -> Any:
    try:
        return json.loads(note.read_text())
    except ValueError:
        return None


def _num_bytes(corpus: CorpusLike) -> int:
    return corpus.num_frames * corpus.image_size**2 * 3


def state_targets(corpus: CorpusLike) -> States | None:
    """Return the true state that probes and state heads aim at, or None if unknown.

    Angles are given by sine and cosine: they have no jump.
    """
    read = _TARGETS.get(corpus.benchmark or "")
    return None if read is None else read(corpus)


def _tworoom(corpus: CorpusLike) -> States:
    return _joined({"agent x,agent y": corpus.column("pos_agent")})


def _reacher(corpus: CorpusLike) -> States:
    angles = corpus.column("qpos")
    return _joined(
        {
            "shoulder sin,wrist sin": np.sin(angles),
            "shoulder cos,wrist cos": np.cos(angles),
        }
    )


def _pusht(corpus: CorpusLike) -> States:
    state = corpus.column("state")
    angle = state[:, 4:5]
    return _joined(
        {
            "agent x,agent y,block x,block y": state[:, :4],
            "angle sin": np.sin(angle),
            "angle cos": np.cos(angle),
        }
    )


def _cube(corpus: CorpusLike) -> States:
    return _joined(
        {
            "effector x,effector y,effector z": corpus.column("proprio_effector_pos"),
            "cube x,cube y,cube z": corpus.column("privileged_block_0_pos"),
        }
    )


def _joined(parts: dict[str, NDArray[Any]]) -> States:
    names = tuple(name for part in parts for name in part.split(","))
    return np.column_stack(list(parts.values())).astype(np.float32), names


_TARGETS: dict[str, Callable[[CorpusLike], States]] = {
    "tworoom": _tworoom,
    "reacher": _reacher,
    "pusht": _pusht,
    "cube": _cube,
}
