"""Finds the format of a corpus; all formats have the same few methods."""

import itertools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from metro.data.formats.hdf5 import Hdf5Source
from metro.data.formats.npz import ArraySource
from metro.data.formats.swm import SwmSource
from metro.data.formats.video import VideoSource, is_video_folder
from metro.errors import CorpusError
from metro.files import require_regular_file


class Source(Protocol):
    """A stored corpus: its columns and frames, whatever its format."""

    lengths: NDArray[Any]
    offsets: NDArray[Any]

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """Shapes of all columns, rows first, but ``ep_len`` and ``ep_offset``."""
        ...

    @property
    def settings(self) -> Mapping[str, Any]:
        """How metro recorded it; empty if it was recorded by others."""
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
    place = locate(path)
    if place is not None:
        _require_files(place)
    if place is not None and place.suffix in (".h5", ".hdf5") and place.is_file():
        return Hdf5Source(place)
    if place is not None and place.suffix in (".npz", ".npy"):
        return ArraySource(place, episode_lengths)
    if place is not None and (place / "pixels.npy").is_file():
        return ArraySource(place, episode_lengths)
    if place is not None and is_video_folder(place):
        return VideoSource(place)
    # Not through swm, which follows HDF5 into other files.
    stored = [] if place is None else [*place.glob("*.h5"), *place.glob("*.hdf5")]
    if len(stored) == 1:
        return Hdf5Source(stored[0])
    return SwmSource(path if place is None else str(place.resolve()))


def _require_files(place: Path) -> None:
    """Raise `CorpusError` if a corpus is, or holds, a pipe or a device.

    Readers of swm would wait for a pipe.
    """
    if not place.is_dir():
        require_regular_file(place, CorpusError)
        return
    # As deep as any format has files of its own.
    for file in itertools.chain(place.glob("*"), place.glob("*/*")):
        if not file.is_dir():
            require_regular_file(file, CorpusError)


def locate(path: str) -> Path | None:
    """Return the file or folder meant; None for a name that only swm understands.

    Nothing that takes long is imported: a wrong path is answered at once.
    """
    place = Path(os.path.expanduser(path))
    if place.exists():
        return place
    if "://" in path or (path.count("/") == 1 and not place.suffix):
        # A scheme, or a repository: swm finds or fetches it.
        return None
    # Where swm looks too.
    home = os.environ.get("STABLEWM_HOME") or "~/.stable_worldmodel"
    # Not Path.expanduser, which raises where there is no home.
    stored = Path(os.path.expanduser(home)) / "datasets" / path
    if stored.exists():
        return stored
    raise CorpusError(f"{path} does not exist, nor does {stored}.")
