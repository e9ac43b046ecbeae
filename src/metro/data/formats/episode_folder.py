"""A folder of episodes as anybody can make one: pictures or videos, and a table.

``actions.csv`` has one row per frame, and a column ``episode`` with the name of a
folder of pictures or of a video (``NAME.mp4``) beside it.
"""

import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.data.formats.hdf5_layout import PIXELS
from metro.data.formats.picture_file import SUFFIXES, read_picture
from metro.data.formats.video_file import count_frames, read_stretch
from metro.errors import CorpusError
from metro.files import reading, require_regular_file

_TABLE, _NAME = "actions.csv", "episode"
_LAYOUT = "docs/formats.md shows the layout."


def is_episode_folder(place: Path) -> bool:
    """Return whether a folder has a table whose columns include ``episode``."""
    table = place / _TABLE
    if not table.is_file():
        return False
    with table.open("rb") as stream:
        return _NAME in re.split(
            r"[,\s]+", stream.read(4096).decode("utf-8", "replace")
        )


class EpisodeFolderSource:
    """Episodes in the order in which the table names them."""

    settings: Mapping[str, Any] = {}

    def __init__(self, place: Path) -> None:
        self._place, table = place, place / _TABLE
        require_regular_file(table, CorpusError)
        with reading(table, CorpusError, _LAYOUT):
            header, rows = _read_table(table)
            names = [row[header.index(_NAME)] for row in rows]
            self._names, starts = _episodes(table, names)
            self._columns = _numbers(table, header, rows)
        if "action" not in self._columns:
            raise CorpusError(
                f"{table} has no column action or action_0; it has "
                f"{', '.join(header)}. {_LAYOUT}"
            )
        with reading(place, CorpusError, _LAYOUT):
            self._require_no_others()
            self._files = [_files(place, name) for name in self._names]
            self._size: tuple[int, ...] | None = None
            self.lengths = np.array([self._count(e) for e in range(len(self._names))])
            self._fill_last(np.diff([*starts, len(rows)]))
        self.offsets = np.cumsum(self.lengths) - self.lengths
        self.shapes = {name: array.shape for name, array in self._columns.items()}
        frame = self.read_frames(0, 1)[0]
        self._size = frame.shape
        self.shapes[PIXELS] = (int(self.lengths.sum()), *frame.shape)
        what = "videos" if isinstance(self._files[0], Path) else "pictures"
        self.kind = f"a folder of {what} with {_TABLE}"

    def read(self, name: str) -> NDArray[Any]:
        """Return all rows of a column."""
        return self._columns[name]

    def read_frames(self, episode: int, count: int | None = None) -> NDArray[Any]:
        """Return the first ``count`` frames of an episode, all if None."""
        files = self._files[episode]
        wanted = int(self.lengths[episode] if count is None else count)
        if isinstance(files, Path):
            return read_stretch(files, 0.0, wanted, None)
        frames: list[NDArray[np.uint8]] = []
        for file in files[:wanted]:
            like = self._size or (frames[0].shape if frames else None)
            frames.append(read_picture(file, str(file), like))
        return np.stack(frames)

    def close(self) -> None:
        """Let go of the columns."""
        self._columns = {}

    def _count(self, episode: int) -> int:
        """Return how many frames an episode has; videos must all have one size."""
        files = self._files[episode]
        if not isinstance(files, Path):
            return len(files)
        frames, *size = count_frames(files, self._size)
        self._size = tuple(size)
        return frames

    def _fill_last(self, rows: NDArray[np.int64]) -> None:
        """Give the last frames a row of NaN if the table leaves out all of them."""
        if np.array_equal(rows, self.lengths):
            return
        if np.array_equal(rows, self.lengths - 1):
            ends = np.cumsum(rows)
            self._columns = {
                name: np.insert(values.astype(np.float64), ends, np.nan, axis=0)
                for name, values in self._columns.items()
            }
            return
        # The one that fits in neither way, if there is one.
        fits = (self.lengths - rows) // 2 == 0
        wrong = int(np.flatnonzero(~fits if not fits.all() else rows < self.lengths)[0])
        raise CorpusError(
            f"{self._place}: episode {self._names[wrong]} has {self.lengths[wrong]} "
            f"frames and {rows[wrong]} rows in {_TABLE}. All episodes must have a row "
            f"per frame, or all must leave out the last."
        )

    def _require_no_others(self) -> None:
        """Raise `CorpusError` if there are episodes that the table does not name."""
        there = {
            path.name.removesuffix(".mp4")
            for path in self._place.iterdir()
            if path.suffix == ".mp4" or (path.is_dir() and path.name[0] != ".")
        }
        others = sorted(there - set(self._names))
        if others:
            raise CorpusError(
                f"{self._place}: {_TABLE} has no rows for {len(others)} of "
                f"{len(there)} episodes, {others[0]} is the first. Add them, or move "
                f"what is no episode away."
            )


def _read_table(table: Path) -> tuple[list[str], list[list[str]]]:
    with table.open(newline="", encoding="utf-8-sig") as stream:
        rows = [[cell.strip() for cell in row] for row in csv.reader(stream) if row]
    header = rows[0]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            raise CorpusError(
                f"{table}, line {number} has {len(row)} cells, the header has "
                f"{len(header)}. {_LAYOUT}"
            )
    if len(rows) == 1 or len(set(header)) < len(header):
        raise CorpusError(f"{table} has no rows, or columns of one name. {_LAYOUT}")
    return header, rows[1:]


def _episodes(table: Path, names: list[str]) -> tuple[list[str], list[int]]:
    """Return the names of all episodes, and the first row of each."""
    starts = [
        row for row, name in enumerate(names) if row == 0 or names[row - 1] != name
    ]
    own = [names[row] for row in starts]
    if len(set(own)) < len(own):
        twice = next(name for place, name in enumerate(own) if name in own[:place])
        raise CorpusError(
            f"{table}: the rows of episode {twice} do not follow one another. Sort "
            f"them."
        )
    odd = [name for name in own if name in ("", ".", "..") or "/" in name]
    if odd:
        raise CorpusError(f"{table}: {odd[0]!r} is no name of an episode. {_LAYOUT}")
    return own, starts


def _numbers(
    table: Path, header: list[str], rows: list[list[str]]
) -> dict[str, NDArray[np.float64]]:
    """Return the columns; ``x_0, x_1, ...`` become one of several numbers."""
    own: dict[str, list[NDArray[np.float64]]] = {}
    for place, name in enumerate(header):
        if name == _NAME:
            continue
        # An empty cell says that nothing was done or seen.
        values = np.array([float(row[place] or "nan") for row in rows])
        stem, _, number = name.rpartition("_")
        is_next = number.isdigit() and int(number) == len(own.get(stem, ()))
        own.setdefault(stem if stem and is_next else name, []).append(values)
    return {
        name: np.stack(parts, axis=1)
        if len(parts) > 1 or name == "action"
        else parts[0]
        for name, parts in own.items()
    }


def _files(place: Path, name: str) -> Path | list[Path]:
    """Return the video of an episode, or its pictures in their order."""
    video, folder = place / f"{name}.mp4", place / name
    if video.is_file():
        return video
    pictures = []
    if folder.is_dir():
        pictures = [p for p in folder.iterdir() if p.suffix.lower() in SUFFIXES]
    if not pictures:
        raise CorpusError(
            f"{place}: episode {name} has neither {name}.mp4 nor pictures in {name}/. "
            f"{_LAYOUT}"
        )
    return sorted(pictures, key=_by_number)


def _by_number(file: Path) -> list[Any]:
    """Order 2.png before 10.png."""
    parts = re.split(r"(\d+)", file.name)
    return [int(part) if part.isdecimal() else part for part in parts]
