"""Directories of arrays, written whole or not at all, read from one moment.

How a directory takes the place of another is explained in `storage.atomic`. A reader
holds the directory and all its files open before it looks into them, so what it returns
is never half of one artefact and half of its replacement.
"""

import hashlib
import os
import shutil
import stat
import tokenize
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from metro.errors import StorageError, one_line, storage_errors
from metro.storage.atomic import (
    find,
    remove_leftovers,
    replacement,
    require_writable,
    resolve,
    sync,
)
from metro.storage.manifest import AGAIN, MANIFEST, Manifest, read_manifest, seal
from metro.version import __version__

Arrays = dict[str, NDArray[Any]]

HEADER_ERRORS = (
    ValueError,
    TypeError,
    SyntaxError,
    tokenize.TokenError,
    RecursionError,
    EOFError,
    OSError,
)
"""What NumPy raises at a damaged ``.npy`` header, which it reads as Python text."""

_ATTEMPTS = 50
_MOST_MANIFEST = 1 << 26
"""Bytes; a manifest has some thousands."""


def write_directory(
    path: Path,
    manifest: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    force: bool,
) -> None:
    """Write arrays and a manifest as the directory ``path``."""
    require_writable(path, force=force)
    with storage_errors(f"{path} was not written"):
        place = resolve(path)
        place.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(place)
        _require_space(path, place.parent, arrays)
        with replacement(place, force=force) as directory:
            described = {
                name: _write_array(directory / f"{name}.npy", array)
                for name, array in arrays.items()
            }
            sealed = seal({**manifest, "metro": __version__, "arrays": described})
            _write_bytes(directory / MANIFEST, sealed)
            sync(directory)


def read_directory(
    path: Path,
    check: Callable[[Manifest], None],
    check_arrays: Callable[[Manifest], None],
    *,
    undigested: Mapping[str, float],
) -> tuple[Manifest, Arrays]:
    """Return the manifest and the arrays of one artefact, memory-mapped.

    Args:
        path: What `write_directory` wrote.
        check: Raises `StorageError` for a format or version that is not ours; called
            before the checksum is compared, so that a newer file is not called damaged.
        check_arrays: Raises `StorageError` for types and shapes that make no sense;
            called before any array is read.
        undigested: Bytes above which the digest of an array is not checked.
    """
    missing = MANIFEST
    with storage_errors(f"{path} cannot be read"):
        for _ in range(_ATTEMPTS):
            with ExitStack() as open_files:
                try:
                    manifest, files = _open_files(path, check, open_files)
                except FileNotFoundError as error:
                    # Replaced by a writer while it was opened, or really gone.
                    missing = str(error.filename)
                    continue
                check_arrays(manifest)
                return manifest, {
                    name: _load_array(
                        path / f"{name}.npy",
                        file,
                        manifest["arrays"][name],
                        undigested=undigested.get(name, np.inf),
                    )
                    for name, file in files.items()
                }
    raise StorageError(
        f"{path} is not a metro artefact: it has no {MANIFEST}. "
        f"Graphs are made by: metro build LATENTS -o GRAPH.metro"
        if missing == MANIFEST
        else f"{path / missing} is missing. {AGAIN}"
    )


def _open_files(
    path: Path, check: Callable[[Manifest], None], open_files: ExitStack
) -> tuple[Manifest, dict[str, BufferedReader]]:
    """Return a checked manifest and its files, all from one directory, opened."""
    place = find(resolve(path))
    if place is None:
        raise StorageError(f"{path} does not exist.")
    if not place.is_dir():
        raise FileNotFoundError(0, "no directory", MANIFEST)
    directory = os.open(place, os.O_RDONLY)
    open_files.callback(os.close, directory)

    # By descriptor, not by path: a writer may rename the directory at any moment, and
    # the files must all be of the same artefact.
    def opener(name: str, flags: int) -> int:
        # Opening a pipe would wait for a writer, so what it is could not be asked.
        return os.open(name, flags | os.O_NONBLOCK, dir_fd=directory)

    def opened(name: str) -> BufferedReader:
        file = open_files.enter_context(open(name, "rb", opener=opener))
        found = os.fstat(file.fileno())
        is_sane = name != MANIFEST or found.st_size <= _MOST_MANIFEST
        if not (stat.S_ISREG(found.st_mode) and is_sane):
            raise StorageError(f"{path / name} is no file that metro wrote. {AGAIN}")
        return file

    manifest = read_manifest(path, opened(MANIFEST).read(), check)
    return manifest, {name: opened(f"{name}.npy") for name in manifest["arrays"]}


def _load_array(
    path: Path,
    file: BufferedReader,
    described: Mapping[str, Any],
    *,
    undigested: float,
) -> NDArray[Any]:
    """Return the array in an open file, mapped; ``path`` is what errors call it."""
    size = os.fstat(file.fileno()).st_size
    if size != described["bytes"]:
        raise StorageError(
            f"{path} has {size} bytes, its manifest says {described['bytes']}. {AGAIN}"
        )
    if size <= undigested and _digest(file) != described["sha256"]:
        raise StorageError(f"{path} is damaged (its sha256 does not match). {AGAIN}")
    file.seek(0)
    try:
        shape, dtype = _read_header(file)
    except HEADER_ERRORS as error:
        raise StorageError(f"{path} is damaged ({one_line(error)}). {AGAIN}") from error
    found = {"dtype": dtype.str, "shape": list(shape)}
    if found != {key: described[key] for key in found} or dtype.hasobject:
        raise StorageError(f"{path} is damaged: it holds {found}. {AGAIN}")
    # In Python's integers: a damaged shape may be larger than 64 bits hold.
    if file.tell() + np.prod(shape, dtype=object) * dtype.itemsize != size:
        raise StorageError(f"{path} is damaged: its size is not its shape's. {AGAIN}")
    # An empty region cannot be mapped.
    if 0 in shape:
        return np.empty(shape, dtype)
    return np.asarray(np.memmap(file, dtype, "r", file.tell(), shape))


def _read_header(file: BufferedReader) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = npy.read_magic(file)
    if version != (1, 0):
        raise ValueError(f"it has npy version {version}")
    shape, is_fortran, dtype = npy.read_array_header_1_0(file)
    if is_fortran:
        raise ValueError("it is in Fortran order")
    return shape, dtype


def _require_space(
    path: Path, parent: Path, arrays: Mapping[str, NDArray[Any]]
) -> None:
    needed = sum(array.nbytes + 4096 for array in arrays.values())
    free = shutil.disk_usage(parent).free
    if needed > free:
        raise StorageError(
            f"Not enough disk for {path}: it needs {needed / 1e9:.2f} GB, "
            f"{free / 1e9:.2f} GB are free. Nothing was written."
        )


def _write_array(path: Path, array: NDArray[Any]) -> dict[str, Any]:
    """Write one array and return its entry in the manifest."""
    array = np.ascontiguousarray(array)
    header = BytesIO()
    npy.write_array_header_1_0(header, npy.header_data_from_array_1_0(array))
    _write_bytes(path, header.getvalue(), array.data)
    # Of the file, not of the array: what cannot be read back is noticed here.
    with path.open("rb") as file:
        digest = _digest(file)
    return {
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "bytes": path.stat().st_size,
        "sha256": digest,
    }


def _write_bytes(path: Path, *parts: bytes | memoryview) -> None:
    with path.open("wb") as file:
        for part in parts:
            file.write(part)
        file.flush()
        os.fsync(file.fileno())


def _digest(file: BufferedReader) -> str:
    return hashlib.file_digest(file, "sha256").hexdigest()
