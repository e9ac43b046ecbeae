"""Finds the format of a corpus; all formats have the same few methods."""

import itertools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from metro.data.formats.episode_folder import EpisodeFolderSource, is_episode_folder
from metro.data.formats.hdf5 import Hdf5Source
from metro.data.formats.hdf5_layout import AGAIN
from metro.data.formats.lerobot import LeRobotSource, is_lerobot
from metro.data.formats.minari import MinariSource, find_minari
from metro.data.formats.npz import open_arrays
from metro.data.formats.ogbench import is_ogbench, open_ogbench
from metro.data.formats.swm import SwmSource
from metro.data.formats.video import VideoSource, is_video_folder
from metro.errors import CorpusError
from metro.files import reading, require_regular_file


class Source(Protocol):
    """A stored corpus: its columns and frames, whatever its format."""

    lengths: NDArray[Any]
    offsets: NDArray[Any]

    @property
    def kind(self) -> str:
        """What a person calls the format."""
        ...

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


def open_source(
    path: str, episode_lengths: int | None = None, camera: str | None = None
) -> Source:
    """Return the source of the right kind for what is at ``path``.

    Args:
        path: A file, a folder, or a name that stable_worldmodel knows.
        episode_lengths: Rows of every episode, for arrays that do not say it.
        camera: Which pictures, for recordings of several cameras.
    """
    place = locate(path)
    if place is None:
        return SwmSource(path)
    _require_files(place)
    find = _open_folder if place.is_dir() else _open_file
    source = find(place, episode_lengths, camera)
    return SwmSource(str(place.resolve())) if source is None else source


def _open_file(
    place: Path, episode_lengths: int | None, camera: str | None
) -> Source | None:
    """Return a source by how the file begins; its name counts if that says nothing."""
    with reading(place, CorpusError, AGAIN), place.open("rb") as stream:
        start = stream.read(8)
    if start == b"\x89HDF\r\n\x1a\n" or place.suffix in (".h5", ".hdf5"):
        minari = find_minari(place)
        return MinariSource(minari, camera) if minari else Hdf5Source(place)
    if start.startswith(b"PK") and is_ogbench(place):
        return open_ogbench(place)
    is_array = start.startswith((b"PK", b"\x93NUMPY"))
    if is_array or place.suffix in (".npz", ".npy"):
        return open_arrays(place, episode_lengths)
    return None


def _open_folder(
    place: Path, episode_lengths: int | None, camera: str | None
) -> Source | None:
    """Return a source by what lies in the folder."""
    if is_lerobot(place):
        return LeRobotSource(place, camera)
    if minari := find_minari(place):
        return MinariSource(minari, camera)
    if (place / "pixels.npy").is_file():
        return open_arrays(place, episode_lengths)
    if is_episode_folder(place):
        return EpisodeFolderSource(place)
    if is_video_folder(place):
        return VideoSource(place)
    # Not through swm, which follows HDF5 into other files.
    stored = [*place.glob("*.h5"), *place.glob("*.hdf5")]
    if len(stored) == 1:
        return Hdf5Source(stored[0])
    if any(place.glob("*.tfrecord*")):
        raise CorpusError(
            f"{place} is an RLDS dataset (TFRecord), which metro does not read. Write "
            f"it as LeRobot or HDF5 first."
        )
    return None


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
