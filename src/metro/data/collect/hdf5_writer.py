"""Writing HDF5 in the layout of the released corpora, the same bytes every time.

One dataset per column, rows of all episodes one after the other; ``ep_len`` and
``ep_offset`` say where episodes lie, ``ep_idx`` and ``step_idx`` where a row belongs.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.data.collect.deferred_errors import DeferredErrorFile
from metro.data.collect.episode import GZIP_LEVEL, Episode
from metro.data.formats.hdf5_layout import LENGTHS, OFFSETS, PIXELS, SETTINGS

_ROWS = 4096
"""Rows of a chunk in columns other than pixels."""


def write_corpus(
    file: Path, episodes: Iterable[Episode], *, image_size: int, settings: str
) -> None:
    """Write a corpus to ``file``, which must not be in use.

    Pixels have one compressed chunk per frame: workers compress them, and any frame is
    read without its neighbours.

    Args:
        file: The HDF5 file to create.
        episodes: In the order of their numbers; read once, one at a time.
        image_size: Pixels along a side.
        settings: JSON to keep as the attribute ``metro``.
    """
    import h5py

    with (
        DeferredErrorFile(file) as written,
        # Without the newest layout HDF5 refuses swm's reader, which opens for SWMR.
        h5py.File(written, "w", libver="latest") as stream,
    ):
        stream.attrs[SETTINGS] = settings
        lengths: list[int] = []
        for episode in episodes:
            if not lengths:
                _create_columns(stream, episode, image_size)
            _append(stream, episode, number=len(lengths), first=sum(lengths))
            lengths.append(len(episode.pictures))
            # After every episode, so that a full disk does not cost the whole loop.
            written.check()
        ends = np.cumsum(lengths, dtype=np.int64)
        _create(stream, LENGTHS, np.array(lengths, np.int32))
        _create(stream, OFFSETS, ends - np.array(lengths, np.int64))


def _create_columns(stream: Any, episode: Episode, image_size: int) -> None:
    shape = (image_size, image_size, 3)
    stream.create_dataset(
        PIXELS,
        shape=(0, *shape),
        maxshape=(None, *shape),
        dtype=np.uint8,
        chunks=(1, *shape),
        compression="gzip",
        compression_opts=GZIP_LEVEL,
        track_times=False,
    )
    for name, values in _columns(episode, 0).items():
        stream.create_dataset(
            name,
            shape=(0, *values.shape[1:]),
            maxshape=(None, *values.shape[1:]),
            dtype=values.dtype,
            chunks=(_ROWS, *values.shape[1:]),
            # Times would make two files of the same rows differ.
            track_times=False,
        )


def _append(stream: Any, episode: Episode, *, number: int, first: int) -> None:
    last = first + len(episode.pictures)
    for name, values in _columns(episode, number).items():
        stream[name].resize(last, axis=0)
        stream[name][first:last] = values
    pixels = stream[PIXELS]
    pixels.resize(last, axis=0)
    for row, picture in enumerate(episode.pictures, first):
        # Already compressed by the worker; HDF5 would do it again in this process.
        pixels.id.write_direct_chunk((row, 0, 0, 0), picture)


def _columns(episode: Episode, number: int) -> dict[str, NDArray[Any]]:
    """Return the columns but pixels; names as released, ``_`` in place of ``/``."""
    length = len(episode.pictures)
    columns = {name.replace("/", "_"): rows for name, rows in episode.columns.items()}
    return columns | {
        "ep_idx": np.full(length, number, np.int32),
        "step_idx": np.arange(length, dtype=np.int32),
    }


def _create(stream: Any, name: str, values: NDArray[Any]) -> None:
    stream.create_dataset(name, data=values, track_times=False)
