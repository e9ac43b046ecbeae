"""NumPy arrays as a corpus: ``.npz``, ``.npy``, or a folder of ``.npy``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.data.formats.archive import load_archive
from metro.data.formats.hdf5_layout import AGAIN, LENGTHS, OFFSETS, PIXELS
from metro.errors import CorpusError
from metro.files import reading, require_regular_file


class ArraySource:
    """Plain arrays by name, pixels among them, and the length of every episode.

    Pixels are memory-mapped, or read in parts from an archive.
    """

    settings: Mapping[str, Any] = {}

    def __init__(
        self, kind: str, arrays: dict[str, Any], lengths: NDArray[Any]
    ) -> None:
        self.kind = kind
        self.lengths = lengths
        self.offsets = np.cumsum(lengths) - lengths
        self._arrays = arrays
        self.shapes = {name: array.shape for name, array in arrays.items()}

    def read(self, name: str) -> NDArray[Any]:
        """Return all rows of a column."""
        return np.asarray(self._arrays[name])

    def read_frames(self, episode: int, count: int | None = None) -> NDArray[Any]:
        """Return the first ``count`` frames of an episode, all if None."""
        first = int(self.offsets[episode])
        last = first + int(self.lengths[episode] if count is None else count)
        # A copy: a view of a memory map would read the disk again at every use.
        return np.array(self._arrays[PIXELS][first:last])

    def close(self) -> None:
        """Let go of the arrays."""
        self._arrays = {}


def open_arrays(place: Path, episode_lengths: int | None) -> ArraySource:
    """Return an ``.npz``, a folder of ``.npy``, or one ``.npy`` of pixels."""
    with reading(place, CorpusError, AGAIN):
        arrays = _load_arrays(place)
        rows = len(next(iter(arrays.values()))) if arrays else 0
        lengths = _find_lengths(place, arrays, rows, episode_lengths)
        arrays.pop(OFFSETS, None)
        return ArraySource("NumPy arrays", arrays, lengths)


def _find_lengths(
    place: Path, arrays: dict[str, Any], rows: int, given: int | None
) -> NDArray[Any]:
    if LENGTHS in arrays:
        return np.asarray(arrays.pop(LENGTHS))
    if given is None:
        raise CorpusError(
            f"{place} does not say where episodes end. Add {LENGTHS} to it, or "
            f"give episode_lengths."
        )
    if given < 1 or rows % given:
        raise CorpusError(
            f"{rows} rows are no whole number of episodes of {given} frames."
        )
    return np.full(rows // given, given, np.int64)


def _load_arrays(place: Path) -> dict[str, Any]:
    if place.is_dir():
        files = sorted(place.glob("*.npy"))
        for file in files:
            require_regular_file(file, CorpusError)
        return {
            file.stem: np.load(file, mmap_mode="r", allow_pickle=False)
            for file in files
        }
    require_regular_file(place, CorpusError)
    with place.open("rb") as stream:
        is_array = stream.read(6) == b"\x93NUMPY"
    if is_array:
        return {PIXELS: np.load(place, mmap_mode="r", allow_pickle=False)}
    return load_archive(place)
