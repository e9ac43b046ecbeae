"""Minari datasets: one HDF5 file with a group for every episode.

Minari has one observation more than actions: the last row of what is short is NaN. Its
pictures are raw or JPEG, and lie anywhere below ``observations``.
"""

import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.data.formats.hdf5_layout import AGAIN, PIXELS, import_h5py
from metro.data.formats.picture_file import (
    choose_camera,
    read_picture,
    require_alike,
)
from metro.errors import CorpusError
from metro.files import own_datasets, reading, require_regular_file

_FILE, _FIRST = "main_data.hdf5", "episode_0"
_JPEG = b"\xff\xd8"


def find_minari(place: Path) -> Path | None:
    """Return the file of a dataset: its folder, the folder ``data``, or itself."""
    for file in (place, place / _FILE, place / "data" / _FILE):
        if file.is_file():
            return file if _has_episodes(file) else None
    return None


def _has_episodes(file: Path) -> bool:
    h5py = import_h5py(file)
    if not h5py.is_hdf5(file):
        return file.name == _FILE
    with reading(file, CorpusError, AGAIN), h5py.File(file, "r") as stream:
        return _FIRST in stream


class MinariSource:
    """``main_data.hdf5`` with ``episode_0`` and so on, ``metadata.json`` beside it."""

    settings: Mapping[str, Any] = {}
    kind = "Minari (HDF5)"

    def __init__(self, file: Path, camera: str | None) -> None:
        h5py = import_h5py(file)
        self._place = file
        require_regular_file(file, CorpusError)
        # A file that is refused is closed again.
        with reading(file, CorpusError, AGAIN), ExitStack() as opened:
            self._file = opened.enter_context(h5py.File(file, "r"))
            names = [f"episode_{number}" for number in range(len(self._file))]
            missing = [name for name in names if name not in self._file]
            if missing:
                raise CorpusError(f"{file} has no {missing[0]}. {AGAIN}")
            _require_all(file, len(names))
            self._episodes = [_datasets(file, self._file, name) for name in names]
            first = self._episodes[0]
            cameras = [name for name, item in first.items() if _is_picture(item)]
            self._camera = choose_camera(file, cameras, camera)
            self.lengths = np.array([self._length(e) for e in range(len(names))])
            self.offsets = np.cumsum(self.lengths) - self.lengths
            self._names = self._find_columns(cameras)
            self.shapes = self._find_shapes()
            opened.pop_all()

    def read(self, name: str) -> NDArray[Any]:
        """Return all rows of a column; what nobody recorded is NaN."""
        with reading(self._place, CorpusError, AGAIN):
            own = self._names[name]
            parts = [episode[own][:] for episode in self._episodes]
            short = [
                length - len(part)
                for length, part in zip(self.lengths, parts, strict=True)
            ]
            if not any(short):
                return np.concatenate(parts)
            kind = np.result_type(parts[0].dtype, np.float32)
            return np.concatenate(
                [
                    np.concatenate([part, np.full((less, *part.shape[1:]), np.nan)])
                    for part, less in zip(parts, short, strict=True)
                ]
            ).astype(kind)

    def read_frames(self, episode: int, count: int | None = None) -> NDArray[Any]:
        """Return the first ``count`` frames of an episode, all if None."""
        wanted = int(self.lengths[episode] if count is None else count)
        with reading(self._place, CorpusError, AGAIN):
            item = self._episodes[episode][self._camera]
            rows = item[:wanted]
            if item.ndim == 4:
                return np.asarray(rows)
            where = f"{self._place}, episode {episode}"
            like = self.shapes[PIXELS][1:] if hasattr(self, "shapes") else None
            return np.stack([read_picture(bytes(r), where, like) for r in rows])

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _length(self, episode: int) -> int:
        """Return the frames of an episode, and check it against its actions."""
        datasets = self._episodes[episode]
        for name in (self._camera, "actions"):
            if name not in datasets:
                raise CorpusError(
                    f"{self._place}: episode {episode} has no {name}. {AGAIN}"
                )
        frames, actions = len(datasets[self._camera]), len(datasets["actions"])
        if frames < 1 or actions not in (frames, frames - 1):
            raise CorpusError(
                f"{self._place}: episode {episode} has {frames} frames and {actions} "
                f"actions; there must be one action less, or as many. {AGAIN}"
            )
        return frames

    def _find_columns(self, cameras: list[str]) -> dict[str, str]:
        """Return names in the file by the names of columns, but of pictures."""
        names = {}
        for own, item in self._episodes[0].items():
            name = "action" if own == "actions" else own.removeprefix("observations/")
            fits = len(item) in (self.lengths[0], self.lengths[0] - 1)
            if own not in cameras and item.dtype.kind in "biuf" and fits:
                names[name] = own
        return names

    def _find_shapes(self) -> dict[str, tuple[int, ...]]:
        rows = int(self.lengths.sum())
        shapes = {}
        for name, own in self._names.items():
            for number, episode in enumerate(self._episodes):
                like = self._episodes[0][own].shape[1:]
                length = int(self.lengths[number])
                shape = episode[own].shape if own in episode else None
                if shape is None or shape not in ((length, *like), (length - 1, *like)):
                    raise CorpusError(
                        f"{self._place}: {name} of episode {number} has the shape "
                        f"{shape and list(shape)}, of episode 0 [L, *{list(like)}]. "
                        f"{AGAIN}"
                    )
            shapes[name] = (rows, *like)
        return shapes | {PIXELS: (rows, *self._find_picture())}

    def _find_picture(self) -> tuple[int, ...]:
        """Return the shape of a picture; all raw ones must have it, and its type."""
        first = self._episodes[0][self._camera]
        if first.ndim != 4:
            return self.read_frames(0, 1).shape[1:]
        for number, episode in enumerate(self._episodes):
            item, where = episode[self._camera], f"{self._place}, episode {number},"
            require_alike(where, item.shape[1:3], first.shape[1:3], str(item.dtype))
            if (item.dtype, item.shape[1:]) != (first.dtype, first.shape[1:]):
                raise CorpusError(
                    f"{where} has frames {list(item.shape[1:])} {item.dtype}, the "
                    f"first {list(first.shape[1:])} {first.dtype}: all must be alike."
                )
        return tuple(first.shape[1:])


def _require_all(file: Path, found: int) -> None:
    """Compare with what ``metadata.json`` promises, if it is there."""
    note = file.with_name("metadata.json")
    if not note.is_file():
        return
    with reading(note, CorpusError, AGAIN):
        promised = json.loads(note.read_text("utf-8")).get("total_episodes")
    if promised != found:
        raise CorpusError(
            f"{file} has {found} episodes, metadata.json promises {promised}. {AGAIN}"
        )


def _datasets(file: Path, group: Any, name: str) -> dict[str, Any]:
    """Return the datasets of an episode by path, below it at any depth."""
    import h5py

    found: dict[str, Any] = {}
    seen = set()
    waiting = [("", name)]
    while waiting:
        prefix, path = waiting.pop()
        here = group[path]
        address = h5py.h5o.get_info(here.id).addr
        # A file from elsewhere may have groups that contain themselves.
        if address in seen or not isinstance(here, h5py.Group):
            continue
        seen.add(address)
        own = own_datasets(file, here, CorpusError, AGAIN, packed=True)
        found |= {f"{prefix}{key}": item for key, item in own.items()}
        for key in here:
            is_own = isinstance(here.get(key, getlink=True), h5py.HardLink)
            if is_own and here.get(key, getclass=True) is h5py.Group:
                waiting.append((f"{prefix}{key}/", f"{path}/{key}"))
    return dict(sorted(found.items()))


def _is_picture(item: Any) -> bool:
    """Return whether a dataset holds pictures: raw, or one JPEG a row."""
    if item.ndim == 4:
        return bool(item.shape[3] == 3)
    is_bytes = item.dtype.hasobject or item.dtype == np.uint8
    if not len(item) or not is_bytes or item.ndim > 2:
        return False
    return bytes(np.atleast_1d(item[0])[:2]) == _JPEG
