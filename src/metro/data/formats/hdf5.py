"""HDF5 in the released layout, or the least of it, read with h5py."""

import json
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.data.formats.hdf5_layout import (
    AGAIN,
    LENGTHS,
    OFFSETS,
    PIXELS,
    SETTINGS,
    import_h5py,
)
from metro.errors import CorpusError, MissingExtra
from metro.files import own_datasets, reading, require_regular_file


class Hdf5Source:
    """One file with a dataset per column, ``pixels`` and ``ep_len`` among them."""

    kind = "HDF5"

    def __init__(self, place: Path) -> None:
        require_regular_file(place, CorpusError)
        h5py = import_h5py(place)
        # Its filters are needed by released files only; `_require_filters` says so.
        with suppress(ImportError):
            import hdf5plugin  # noqa: F401
        self._place = place
        with reading(place, CorpusError, AGAIN):
            self._file = h5py.File(place, "r")
            columns = own_datasets(place, self._file, CorpusError, AGAIN)
            _require_filters(place, columns)
            if LENGTHS not in columns:
                raise CorpusError(
                    f"{place} is no corpus: it has no {LENGTHS}, only "
                    f"{', '.join(columns) or 'nothing'}."
                )
            self.lengths = columns.pop(LENGTHS)[:]
            ends = np.cumsum(self.lengths)
            self.offsets = columns.pop(OFFSETS, ends - self.lengths)[:]
            self.shapes = {name: item.shape for name, item in columns.items()}
            self.settings = _read_settings(place, self._file)

    def read(self, name: str) -> NDArray[Any]:
        """Return all rows of a column."""
        with reading(self._place, CorpusError, AGAIN):
            return np.asarray(self._file[name][:])

    def read_frames(self, episode: int, count: int | None = None) -> NDArray[Any]:
        """Return the first ``count`` frames of an episode, all if None."""
        first = int(self.offsets[episode])
        last = first + int(self.lengths[episode] if count is None else count)
        with reading(self._place, CorpusError, AGAIN):
            return np.asarray(self._file[PIXELS][first:last])

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def _read_settings(place: Path, file: Any) -> dict[str, Any]:
    """Return how metro recorded the file; empty for recordings of others."""
    settings = json.loads(file.attrs.get(SETTINGS, "{}"))
    named = [settings.get(key) for key in ("benchmark", "rendering")]
    if not all(name is None or isinstance(name, str) for name in named):
        raise CorpusError(f"{place} names no benchmark and rendering: {named}. {AGAIN}")
    return dict(settings)


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
