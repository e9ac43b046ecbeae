"""HDF5 in the released layout, read with h5py."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.data.formats.hdf5_layout import AGAIN, LENGTHS, OFFSETS, PIXELS, SETTINGS
from metro.errors import CorpusError, MissingExtra


class Hdf5Source:
    """One file with a dataset per column, ``ep_len`` and ``ep_offset`` among them."""

    def __init__(self, place: Path) -> None:
        try:
            import h5py
        except ImportError as error:
            raise MissingExtra(
                f'Reading {place} needs the "h5" extra: pip install "metro-wm[h5]"'
            ) from error
        # Its filters are needed by released files only; `_require_filters` says so.
        with suppress(ImportError):
            import hdf5plugin  # noqa: F401
        try:
            self._file = h5py.File(place, "r")
        except OSError as error:
            raise CorpusError(f"{place} cannot be read: {error}. {AGAIN}") from error
        columns = {
            name: item
            for name, item in self._file.items()
            if isinstance(item, h5py.Dataset)
        }
        _require_filters(place, columns)
        if LENGTHS not in columns or OFFSETS not in columns:
            self._file.close()
            raise CorpusError(
                f"{place} is no corpus: it has no {LENGTHS} and {OFFSETS}, only "
                f"{', '.join(columns) or 'nothing'}."
            )
        self.lengths, self.offsets = columns.pop(LENGTHS)[:], columns.pop(OFFSETS)[:]
        self.shapes = {name: item.shape for name, item in columns.items()}
        self.settings = json.loads(self._file.attrs.get(SETTINGS, "{}"))
        self._place = place

    def read(self, name: str) -> NDArray[Any]:
        """Return all rows of a column."""
        return np.asarray(self._file[name][:])

    def read_frames(self, episode: int, count: int | None = None) -> NDArray[np.uint8]:
        """Return the first ``count`` frames of an episode, all if None."""
        first = int(self.offsets[episode])
        last = first + int(self.lengths[episode] if count is None else count)
        try:
            return np.asarray(self._file[PIXELS][first:last], np.uint8)
        except OSError as error:
            raise CorpusError(
                f"{self._place} cannot be read: {error}. {AGAIN}"
            ) from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _require_filters(place: Path, columns: Mapping[str, Any]) -> None:
    """Raise `MissingExtra` if a column is compressed by what is not installed."""
    import h5py

    for column in columns.values():
        settings = column.id.get_create_plist()
        for position in range(settings.get_nfilters()):
            code, _, _, name = settings.get_filter(position)
            if not h5py.h5z.filter_avail(code):
                raise MissingExtra(
                    f"{place} is compressed with {name.decode()} (HDF5 filter {code}), "
                    f"which h5py alone cannot read: pip install hdf5plugin"
                )
