"""Files of others: regular ones only, damage becomes one line, values have types."""

import csv
import math
import os
import pickle
import stat
import struct
import tokenize
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin
from zipfile import BadZipFile

from metro.errors import MetroError, StorageError, one_line, shortened

DAMAGE = (
    *(OSError, EOFError, MemoryError, BadZipFile, zlib.error, struct.error, csv.Error),
    *(ValueError, TypeError, KeyError, IndexError, AttributeError, ArithmeticError),
    *(RuntimeError, SyntaxError, tokenize.TokenError, pickle.UnpicklingError),
    AssertionError,
)
"""What h5py, NumPy, safetensors, torch and Python's parsers raise at damaged files.

RuntimeError includes RecursionError, which a million brackets cause.
"""

_LONGEST = 800
"""Characters of an error of ours; a path, a list of names and a cure are shorter."""

_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def require_regular_file(
    path: str | Path, kind: type[MetroError] = StorageError
) -> None:
    """Raise ``kind`` unless a file with an end is at ``path``, perhaps by a link.

    Reading a pipe waits for a writer, reading a device may never end.
    """
    try:
        mode = os.stat(path).st_mode
    except OSError as error:
        raise kind(f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise kind(f"{str(path)!r} is no file name: {error}.") from error
    if not stat.S_ISREG(mode):
        what = _KINDS.get(stat.S_IFMT(mode), "something else")
        raise kind(f"{path} is {what}, not a file. Give the path of a file.")


@contextmanager
def reading(path: object, kind: type[MetroError], cure: str) -> Iterator[None]:
    """Turn what a library raises at a damaged file into ``kind``, in one line.

    Args:
        path: What the message calls the file.
        kind: The error of the format's room.
        cure: What to do, as a sentence.
    """
    try:
        yield
    except MetroError as error:
        # Ours quote what they got, which may be of any length.
        if len(str(error)) > _LONGEST:
            raise type(error)(shortened(str(error))) from error
        raise
    except DAMAGE as error:
        raise kind(f"{path} cannot be read: {one_line(error)}. {cure}") from error


def own_datasets(
    path: object, file: Any, kind: type[MetroError], cure: str, *, packed: bool = False
) -> dict[str, Any]:
    """Return the datasets of numbers of an HDF5 file or group, by name.

    Those that lie in another file are refused: a file from elsewhere must not make us
    read, and pass on, our own files. Groups, texts and references are left out, and
    rows of bytes of any length, unless they are asked for as ``packed``.
    """
    import h5py

    _require_own_links(path, file, kind)
    datasets = {}
    for name in file:
        if not isinstance(name, str):
            raise kind(f"{path}: {name!r} is no name in UTF-8. {cure}")
        item = file[name]
        is_packed = packed and _is_packed(item)
        if isinstance(item, h5py.Dataset) and (is_packed or not item.dtype.hasobject):
            if item.external or item.is_virtual:
                raise _elsewhere(path, name, kind)
            # HDF5 makes zeros of it, of any size, and perhaps for hours.
            if missing := _unwritten(item):
                raise kind(f"{path}: {missing} of {name} was never written. {cure}")
            datasets[name] = item
    return datasets


def _require_own_links(path: object, file: Any, kind: type[MetroError]) -> None:
    """Raise ``kind`` if any link of an HDF5 file leads to another file.

    In all of its groups, for a link inside the file may lead to one that leads out.
    """
    import h5py

    def look(name: bytes, about: Any) -> str | None:
        is_inside = about.type in (h5py.h5l.TYPE_HARD, h5py.h5l.TYPE_SOFT)
        return None if is_inside else name.decode(errors="replace")

    outside = file.id.links.visit(look, info=True)
    if outside is not None:
        raise _elsewhere(path, outside, kind)


def _elsewhere(path: object, name: str, kind: type[MetroError]) -> MetroError:
    return kind(
        f"{path}: {name} lies in another file, which metro does not follow. "
        f"Copy it into one file: h5repack."
    )


def _is_packed(item: Any) -> bool:
    import h5py

    kind = getattr(item, "dtype", None)
    return kind is not None and h5py.check_vlen_dtype(kind) == "uint8"


def _unwritten(dataset: Any) -> str:
    """Return how much of an HDF5 dataset was never written; empty: all of it was."""
    if not dataset.size:
        return ""
    if dataset.chunks is None:
        return "" if dataset.id.get_storage_size() else "all"
    sizes = zip(dataset.shape, dataset.chunks, strict=True)
    chunks = math.prod(-(-rows // size) for rows, size in sizes)
    missing = chunks - dataset.id.get_num_chunks()
    return f"{missing / chunks:.2%}" if missing else ""


def has_type(value: object, kind: Any) -> bool:
    """Return whether a value from JSON or TOML is what an annotation says.

    Args:
        value: Any plain value; lists as tuples.
        kind: Such as ``int``, ``str | None``, ``tuple[int, ...]``, ``Mapping[str, T]``.
    """
    origin, inner = get_origin(kind), get_args(kind)
    if kind is Any:
        return True
    if origin is UnionType:
        return any(has_type(value, one) for one in inner)
    if origin is tuple:
        return isinstance(value, tuple) and all(has_type(v, inner[0]) for v in value)
    if origin is not None:
        return isinstance(value, Mapping) and all(
            has_type(one, inner[1]) for one in value.values()
        )
    # Not isinstance: True is an int to Python, and no size.
    return type(value) in ((int, float) if kind is float else (kind,))
