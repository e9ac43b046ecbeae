"""LeRobot datasets, version 3: tables in parquet, frames in mp4 or in the tables.

They are read with pyarrow and PyAV, not with the lerobot library, which wants a torch
of its own. A table and a video hold several episodes; ``meta/episodes`` says which.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.data.formats.hdf5_layout import PIXELS
from metro.data.formats.lerobot_info import LEROBOT_AGAIN, cameras_of, read_info
from metro.data.formats.parquet import ParquetTable, open_table
from metro.data.formats.picture_file import choose_camera, read_picture
from metro.data.formats.video_file import count_frames, read_stretch
from metro.errors import CorpusError
from metro.files import reading

_NUMBERS = re.compile(r"bool|u?int(8|16|32|64)|float(16|32|64)")
_FIELD = re.compile(r"\{(chunk_index|file_index|video_key)(?::0?([1-9])d)?\}")


def is_lerobot(place: Path) -> bool:
    """Return whether a folder has the description that LeRobot writes."""
    # Also one that cannot be read: whoever opens it says so.
    return os.path.lexists(place / "meta" / "info.json")


class LeRobotSource:
    """A folder with ``meta``, ``data`` and ``videos``.

    Args:
        place: The folder.
        camera: Which pictures; None takes the only ones there are.
    """

    settings: Mapping[str, Any] = {}

    def __init__(self, place: Path, camera: str | None) -> None:
        self._place = place
        with reading(place, CorpusError, LEROBOT_AGAIN):
            self._info = read_info(place)
            features = self._info["features"]
            self.kind = f"LeRobot {self._info['codebase_version']}"
            self._camera = choose_camera(place, cameras_of(features), camera)
            self._episodes = self._read_episodes()
            self.lengths = self._episodes["length"]
            self.offsets = np.cumsum(self.lengths) - self.lengths
            self._tables = self._require_tables()
            self.shapes = self._find_shapes(features)
            self._require_order()
            if self._is_video:
                self._require_videos()

    def read(self, name: str) -> NDArray[Any]:
        """Return all rows of a column."""
        parts = [table.column(name) for table in self._tables.values()]
        values = np.concatenate(parts)
        if values.size != np.prod(self.shapes[name]):
            raise CorpusError(
                f"{self._place}: {name} has {values.size} numbers, "
                f"{list(self.shapes[name])} are promised. {LEROBOT_AGAIN}"
            )
        return values.reshape(self.shapes[name])

    def read_frames(self, episode: int, count: int | None = None) -> NDArray[Any]:
        """Return the first ``count`` frames of an episode, all if None."""
        wanted = int(self.lengths[episode] if count is None else count)
        if self._is_video:
            start = float(self._of_video("from_timestamp")[episode])
            fps = float(self._info["fps"])
            return read_stretch(self._video(episode), start, wanted, fps)
        number, row = self._place_in_table(episode)
        like = self.shapes[PIXELS][1:]
        cells = self._tables[number].cells(self._camera, row, wanted)
        where = f"{self._place}, episode {episode}"
        return np.stack([read_picture(_content(c, where), where, like) for c in cells])

    def close(self) -> None:
        """Close the tables."""
        for table in self._tables.values():
            table.close()

    @property
    def _is_video(self) -> bool:
        return bool(self._info["features"][self._camera]["dtype"] == "video")

    def _read_episodes(self) -> dict[str, NDArray[Any]]:
        """Return the columns that say where episodes lie, ``[M]`` each."""
        names = ["episode_index", "length", "data/chunk_index", "data/file_index"]
        if self._info["features"][self._camera]["dtype"] == "video":
            parts = ("chunk_index", "file_index", "from_timestamp")
            names += [f"videos/{self._camera}/{part}" for part in parts]
        files = sorted((self._place / "meta" / "episodes").rglob("*.parquet"))
        tables = [open_table(file, LEROBOT_AGAIN) for file in files]
        if not tables:
            raise CorpusError(f"{self._place} has no meta/episodes. {LEROBOT_AGAIN}")
        columns = {
            name: np.concatenate([table.column(name) for table in tables])
            for name in names
        }
        order = np.argsort(columns["episode_index"], kind="stable")
        columns = {name: values[order] for name, values in columns.items()}
        promised = (self._info["total_episodes"], self._info["total_frames"])
        found = (len(order), int(columns["length"].sum()))
        numbers = np.arange(len(order))
        if found != promised or np.any(columns["episode_index"] != numbers):
            raise CorpusError(
                f"{self._place} has {found[0]} episodes with {found[1]} frames in "
                f"meta/episodes, info.json promises {promised[0]} with {promised[1]}. "
                f"{LEROBOT_AGAIN}"
            )
        if len(order) == 0 or columns["length"].min() < 1:
            empty = np.flatnonzero(columns["length"] < 1)[:1].tolist()
            raise CorpusError(
                f"{self._place} has no episodes, or empty ones {empty}. Leave them out."
            )
        return columns

    def _require_tables(self) -> dict[int, ParquetTable]:
        """Return the tables in their order; every row must be there."""
        key = self._keys("data/chunk_index", "data/file_index")
        paths = {}
        for number in dict.fromkeys(key.tolist()):
            first = int(np.flatnonzero(key == number)[0])
            paths[number] = self._file(
                self._info["data_path"],
                chunk_index=self._episodes["data/chunk_index"][first],
                file_index=self._episodes["data/file_index"][first],
            )
        self._require_there(list(paths.values()))
        tables = {
            number: open_table(path, LEROBOT_AGAIN) for number, path in paths.items()
        }
        for number, table in tables.items():
            wanted = int(self.lengths[key == number].sum())
            if table.num_rows != wanted:
                raise CorpusError(
                    f"{paths[number]} has {table.num_rows} rows, its episodes have "
                    f"{wanted}. {LEROBOT_AGAIN}"
                )
        return tables

    def _require_order(self) -> None:
        """Raise `CorpusError` unless episodes follow one another in the tables."""
        named = self.read("episode_index")
        if not np.array_equal(
            named, np.repeat(np.arange(len(self.lengths)), self.lengths)
        ):
            raise CorpusError(
                f"{self._place}: the rows of its tables are not in the order of "
                f"episodes that meta/episodes has. {LEROBOT_AGAIN}"
            )

    def _require_videos(self) -> None:
        """Every video must be there, of one size, with the frames of its episodes."""
        key = self._keys(
            *(f"videos/{self._camera}/{n}_index" for n in ("chunk", "file"))
        )
        firsts = {number: int(np.flatnonzero(key == number)[0]) for number in set(key)}
        files = {number: self._video(first) for number, first in firsts.items()}
        self._require_there(list(files.values()))
        for number, file in sorted(files.items()):
            frames, _, _ = count_frames(file, self.shapes[PIXELS][1:])
            wanted = int(self.lengths[key == number].sum())
            if frames not in (0, wanted):
                raise CorpusError(
                    f"{file} has {frames} frames, the tables have {wanted} rows for "
                    f"it: actions would not belong to frames. {LEROBOT_AGAIN}"
                )

    def _require_there(self, files: list[Path]) -> None:
        missing = [file for file in files if not file.is_file()]
        if missing:
            raise CorpusError(
                f"{self._place} is half downloaded: {len(missing)} of {len(files)} "
                f"files are missing, {missing[0].relative_to(self._place)} is the "
                f"first. Fetch it again."
            )

    def _find_shapes(self, features: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
        rows = int(self.lengths.sum())
        shapes = {}
        for name, feature in features.items():
            if _NUMBERS.fullmatch(feature["dtype"]):
                # LeRobot stores a list of one number as that number.
                own = tuple(feature["shape"])
                shapes[name] = (rows, *(() if own == (1,) else own))
        shape = tuple(features[self._camera]["shape"])
        # Channels come first in some versions.
        names = features[self._camera].get("names")
        if isinstance(names, list) and str(names[:1])[2:3] == "c":
            shape = (*shape[1:], *shape[:1])
        return shapes | {PIXELS: (rows, *shape)}

    def _place_in_table(self, episode: int) -> tuple[int, int]:
        key = self._keys("data/chunk_index", "data/file_index")
        before = (key == key[episode]) & (np.arange(len(key)) < episode)
        return int(key[episode]), int(self.lengths[before].sum())

    def _keys(self, chunk: str, file: str) -> NDArray[np.int64]:
        """Return one number ``[M]`` for the file that an episode lies in."""
        both = np.stack([self._episodes[chunk], self._episodes[file]], axis=1)
        _, key = np.unique(both, axis=0, return_inverse=True)
        return np.asarray(key).reshape(-1)

    def _of_video(self, part: str) -> NDArray[Any]:
        return self._episodes[f"videos/{self._camera}/{part}"]

    def _video(self, episode: int) -> Path:
        return self._file(
            self._info["video_path"],
            chunk_index=self._of_video("chunk_index")[episode],
            file_index=self._of_video("file_index")[episode],
            video_key=self._camera,
        )

    def _file(self, pattern: str, **parts: Any) -> Path:
        """Return the file that a pattern of info.json names, inside the folder."""

        def fill(match: re.Match[str]) -> str:
            return str(parts.get(match[1], "")).zfill(int(match[2] or 0))

        name = PurePosixPath(_FIELD.sub(fill, pattern))
        if name.is_absolute() or ".." in name.parts:
            raise CorpusError(
                f"{self._place} names {name}, which is outside of it; metro does not "
                f"follow that. {LEROBOT_AGAIN}"
            )
        return self._place / name


def _content(cell: Any, where: str) -> bytes:
    """Return the picture that a cell of a table holds."""
    content = cell.get("bytes") if isinstance(cell, dict) else None
    if not isinstance(content, bytes):
        raise CorpusError(f"{where} has no picture in its table. {LEROBOT_AGAIN}")
    return content
