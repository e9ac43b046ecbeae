"""Every other format that stable-worldmodel reads: Lance, pictures, LeRobot."""

from collections.abc import Mapping
from platform import python_version
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.data.formats.hdf5_layout import AGAIN
from metro.errors import CorpusError, MissingExtra, one_line
from metro.files import DAMAGE, reading


class SwmSource:
    """Anything that stable_worldmodel opens, through its own reader."""

    settings: Mapping[str, Any] = {}

    def __init__(self, name: str) -> None:
        from metro.compat import import_swm

        swm = import_swm()
        self._name = name
        # swm's readers are not safe for threads, and encoding uses several.
        self._lock = Lock()
        try:
            self._dataset = swm.data.load_dataset(name)
            self.kind = f"stable-worldmodel ({type(self._dataset).__name__})"
            self.lengths = np.asarray(self._dataset.lengths)
            self.offsets = np.asarray(self._dataset.offsets)
            self.shapes = self._find_shapes()
        except ImportError as error:
            raise MissingExtra(_what_is_missing(name, error)) from error
        except DAMAGE as error:
            what = f"{type(error).__name__}: {one_line(error)}"
            raise CorpusError(
                f"{name} cannot be opened as a corpus: {what}. docs/formats.md lists "
                f"what is read."
            ) from error

    def _find_shapes(self) -> dict[str, tuple[int, ...]]:
        """Return shapes as the first episode shows them; its length is the reader's."""
        rows = int(self.lengths.sum())
        # The reader has no shapes; one row shows those of all columns.
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
        with reading(self._name, CorpusError, AGAIN):
            return np.asarray(self._dataset.get_col_data(name))

    def read_frames(self, episode: int, count: int | None = None) -> NDArray[np.uint8]:
        """Return the first ``count`` frames of an episode, all if None."""
        length = int(self.lengths[episode] if count is None else count)
        with self._lock, reading(self._name, CorpusError, AGAIN):
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
