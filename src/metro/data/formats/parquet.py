"""Tables in parquet, read with pyarrow: a column, or some rows of it."""

from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.errors import CorpusError, MissingExtra
from metro.files import reading, require_regular_file

_POINTER = b"version https://git-lfs"
"""Begins what git leaves where Git LFS has not fetched the file."""


def open_table(file: Path, cure: str) -> "ParquetTable":
    """Return the table in a file; ``cure`` is what to do if it is damaged."""
    require_regular_file(file, CorpusError)
    with file.open("rb") as stream:
        if stream.read(len(_POINTER)) == _POINTER:
            raise CorpusError(
                f"{file} is a Git LFS pointer, not the file itself: git lfs pull"
            )
    return ParquetTable(file, cure)


class ParquetTable:
    """One parquet file."""

    def __init__(self, file: Path, cure: str) -> None:
        try:
            import pyarrow.parquet
        except ImportError as error:
            raise MissingExtra(
                f'Reading {file} needs the "data" extra: pip install "metro-wm[data]"'
            ) from error
        self._path, self._cure = file, cure
        # pyarrow does not promise that several threads may read from one file.
        self._lock = Lock()
        with reading(file, CorpusError, cure):
            # Read into memory, not mapped: a file that shrinks must not end us.
            self._file = pyarrow.parquet.ParquetFile(file, memory_map=False)
            self.num_rows = int(self._file.metadata.num_rows)

    def column(self, name: str) -> NDArray[Any]:
        """Return all numbers of a column, lists flattened: ``[rows x numbers]``."""
        with reading(self._path, CorpusError, self._cure):
            self._require(name)
            chunked = self._file.read(columns=[name]).column(0)
            if chunked.null_count:
                raise CorpusError(
                    f"{self._path}: {chunked.null_count} rows have no {name}. "
                    f"{self._cure}"
                )
            return np.concatenate([_numbers(part) for part in chunked.chunks])

    def cells(self, name: str, first: int, count: int) -> list[Any]:
        """Return some rows of a column; only the groups they lie in are read."""
        with self._lock, reading(self._path, CorpusError, self._cure):
            self._require(name)
            start, cells = 0, []
            for group in range(self._file.num_row_groups):
                rows = self._file.metadata.row_group(group).num_rows
                low, high = max(first - start, 0), min(first + count - start, rows)
                if low < high:
                    part = self._file.read_row_group(group, columns=[name]).column(0)
                    cells += part.slice(low, high - low).to_pylist()
                start += rows
            return cells

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _require(self, name: str) -> None:
        there = self._file.schema_arrow.names
        if name not in there:
            raise CorpusError(
                f"{self._path} has no column {name!r}; it has {', '.join(there)}. "
                f"{self._cure}"
            )


def _numbers(array: Any) -> NDArray[Any]:
    import pyarrow

    if isinstance(array, pyarrow.ExtensionArray):
        array = array.storage
    while hasattr(array, "flatten") and pyarrow.types.is_nested(array.type):
        array = array.flatten()
    values = np.asarray(array.to_numpy(zero_copy_only=False))
    if values.dtype.kind not in "biuf":
        raise ValueError(f"{array.type} is no type of numbers")
    return values
