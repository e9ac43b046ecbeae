"""The formats that a corpus may be stored in, each behind the same few methods."""

from collections.abc import Mapping
from pathlib import Path
from platform import python_version
from threading import Lock
from typing import Any, Protocol
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from metro.data.formats.hdf5 import AGAIN, LENGTHS, OFFSETS, Hdf5Source
from metro.data.formats.video import VideoSource, is_video_folder
from metro.errors import CorpusError, MissingExtra

_READER_ERRORS = (OSError, ValueError, KeyError, TypeError, RuntimeError)
"""What the readers of swm, and the libraries beneath them, raise at damage."""


class Source(Protocol):
    """Where columns and frames come from."""

    lengths: NDArray[Any]
    offsets: NDArray[Any]

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Of every column, rows first; without `LENGTHS` and `OFFSETS`."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """How metro recorded it; empty if others did."""
        ...

    def read(self, name: str) -> NDArray[Any]:
        """Return all rows of a column."""
        ...

    def read_frames(self, episode: int, count: int | None = None) -> NDArray[np.uint8]:
        """Return the first ``count`` frames of an episode, all if None."""
        ...

    def close(self) -> None:
        """Close what is open."""
        ...


def open_source(path: str, episode_lengths: int | None) -> Source:
    """Return the source of the right kind for what is at ``path``."""
    place = _locate(path)
    if place is not None and place.suffix in (".h5", ".hdf5") and place.is_file():
        return Hdf5Source(place)
    if place is not None and place.suffix in (".npz", ".npy"):
        return ArraySource(place, episode_lengths)
    if place is not None and (place / "pixels.npy").is_file():
        return ArraySource(place, episode_lengths)
    if place is not None and is_video_folder(place):
        return VideoSource(place)
    return SwmSource(path if place is None else str(place.resolve()))


class ArraySource:
    """Plain arrays: an ``.npz``, a folder of ``.npy``, or one ``.npy`` of pixels.

    ``.npy`` are memory-mapped; an ``.npz`` is read when it is opened.
    """

    settings: Mapping[str, Any] = {}

    def __init__(self, place: Path, episode_lengths: int | None) -> None:
        try:
            arrays = _load_arrays(place)
        except (OSError, ValueError, EOFError, BadZipFile) as error:
            raise CorpusError(f"{place} cannot be read: {error}. {AGAIN}") from error
        rows = len(next(iter(arrays.values()))) if arrays else 0
        self.lengths = self._find_lengths(place, arrays, rows, episode_lengths)
        self.offsets = np.cumsum(self.lengths) - self.lengths
        arrays.pop(OFFSETS, None)
        self._arrays = arrays
        self.shapes = {name: array.shape for name, array in arrays.items()}

    @staticmethod
    def _find_lengths(
        place: Path, arrays: dict[str, NDArray[Any]], rows: int, given: int | None
    ) -> NDArray[np.int64]:
        if LENGTHS in arrays:
            return np.asarray(arrays.pop(LENGTHS), np.int64)
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

    def read(self, name: str) -> NDArray[Any]:
        """Return all rows of a column."""
        return np.asarray(self._arrays[name])

    def read_frames(self, episode: int, count: int | None = None) -> NDArray[np.uint8]:
        """Return the first ``count`` frames of an episode, all if None."""
        first = int(self.offsets[episode])
        last = first + int(self.lengths[episode] if count is None else count)
        return np.array(self._arrays["pixels"][first:last], np.uint8)

    def close(self) -> None:
        """Let go of the arrays."""
        self._arrays = {}


class SwmSource:
    """Anything that stable_worldmodel opens, through its own reader."""

    settings: Mapping[str, Any] = {}

    def __init__(self, name: str) -> None:
        from metro.compat import import_swm

        swm = import_swm()
        self._lock = Lock()  # encoding reads from several threads
        try:
            self._dataset = swm.data.load_dataset(name)
            self.lengths = np.asarray(self._dataset.lengths)
            self.offsets = np.asarray(self._dataset.offsets)
            self.shapes = self._find_shapes()
        except ImportError as error:
            raise MissingExtra(_what_is_missing(name, error)) from error
        except _READER_ERRORS as error:
            raise CorpusError(
                f"{name} cannot be opened as a corpus: {type(error).__name__}: {error}"
            ) from error

    def _find_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return shapes as the first episode shows them; its length is the reader's."""
        rows = int(self.lengths.sum())
        first = self._dataset.load_chunk([0], [0], [1])[0]
        shapes = {
            name: (rows, *value.shape[1:])
            for name, value in first.items()
            if hasattr(value, "shape")
        }
        if "pixels" in shapes:
            _, channels, height, width = shapes["pixels"]
            shapes["pixels"] = (rows, height, width, channels)
        return shapes

    def read(self, name: str) -> NDArray[Any]:
        """Return all rows of a column."""
        return np.asarray(self._dataset.get_col_data(name))

    def read_frames(self, episode: int, count: int | None = None) -> NDArray[np.uint8]:
        """Return the first ``count`` frames of an episode, all if None."""
        length = int(self.lengths[episode] if count is None else count)
        with self._lock:
            rows = self._dataset.load_chunk([episode], [0], [length])[0]
        frames = rows["pixels"].permute(0, 2, 3, 1).contiguous().numpy()
        if np.issubdtype(frames.dtype, np.floating):  # LeRobot's are in [0, 1]
            frames = np.rint(255 * frames)
        return np.asarray(frames, np.uint8)

    def close(self) -> None:
        """Let go of the reader."""
        del self._dataset


def _what_is_missing(name: str, error: ImportError) -> str:
    if name.startswith("lerobot://"):
        return (
            f"{name} needs the lerobot library, on Python 3.12 or newer (this is "
            f"{python_version()}): pip install lerobot"
        )
    return f"{name} needs a library that is not installed: {error}"


def _locate(path: str) -> Path | None:
    """Return the file or folder meant; None for a name that only swm understands."""
    place = Path(path).expanduser()
    if place.exists():
        return place
    if "://" in path or (path.count("/") == 1 and not place.suffix):
        return None  # a scheme, or somebody's repository: swm finds or fetches it
    from metro.compat import import_swm

    stored = import_swm().data.utils.get_cache_dir(sub_folder="datasets") / path
    if stored.exists():
        return Path(stored)
    raise CorpusError(f"{path} does not exist, nor does {stored}.")


def _load_arrays(place: Path) -> dict[str, NDArray[Any]]:
    if place.suffix == ".npy":
        return {"pixels": np.load(place, mmap_mode="r", allow_pickle=False)}
    if place.is_dir():
        files = sorted(place.glob("*.npy"))
        return {
            file.stem: np.load(file, mmap_mode="r", allow_pickle=False)
            for file in files
        }
    with np.load(place, allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}
