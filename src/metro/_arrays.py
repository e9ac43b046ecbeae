"""Directories of arrays, written whole or not at all; knows nothing of graphs.

A writer fills a hidden sibling, syncs it and renames it. To replace a directory, the
old one is first renamed to a hidden backup that readers fall back to, so at every
moment one complete artefact can be read.
"""

import hashlib
import json
import os
import shutil
import socket
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from metro.errors import StorageError
from metro.version import __version__

MANIFEST = "manifest.json"


def write_directory(
    path: Path,
    manifest: Mapping[str, Any],
    arrays: Mapping[str, NDArray[Any]],
    *,
    force: bool,
) -> None:
    """Write arrays and a manifest as the directory ``path``."""
    require_writable(path, force=force)
    needed = sum(array.nbytes + 4096 for array in arrays.values())
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(path)
    free = shutil.disk_usage(path.parent).free
    if needed > free:
        raise StorageError(
            f"Not enough disk for {path}: it needs {needed / 1e9:.2f} GB, "
            f"{free / 1e9:.2f} GB are free. Nothing was written."
        )
    with _sibling(path) as directory:
        described = {
            name: _write_array(directory / f"{name}.npy", array)
            for name, array in arrays.items()
        }
        sealed = _seal({**manifest, "metro": __version__, "arrays": described})
        _write_bytes(directory / MANIFEST, sealed)
        _sync(directory)
        _put_in_place(directory, path)


def require_writable(path: Path, *, force: bool) -> None:
    """Raise `StorageError` if ``path`` holds something that must not be replaced."""
    if not path.exists() and _backup(path).exists():
        _backup(path).rename(path)  # a writer was killed between its two renames
    if not path.exists() and not path.is_symlink():
        return
    if not force:
        raise StorageError(f"{path} exists already. Replace it with --force.")
    if not _is_artefact(path):
        raise StorageError(
            f"{path} exists and is not a metro artefact; it will not be replaced, "
            f"not even by force. Move it away or choose another name."
        )


def read_manifest(path: Path) -> tuple[Path, dict[str, Any]]:
    """Return where the artefact lies (the backup, mid-replacement) and its manifest."""
    place = path
    if not path.exists() and _backup(path).exists():
        place = _backup(path)
    if not place.exists():
        raise StorageError(f"{path} does not exist.")
    if not (place / MANIFEST).is_file():
        raise StorageError(
            f"{path} is not a metro artefact: it has no {MANIFEST}. "
            f"Graphs are made by: metro build LATENTS -o GRAPH.metro"
        )
    try:
        manifest = json.loads((place / MANIFEST).read_bytes())
    except ValueError as error:
        raise StorageError(
            f"{path}: {MANIFEST} is damaged ({error}). Restore it or make it anew."
        ) from error
    if not isinstance(manifest, dict) or "checksum" not in manifest:
        raise StorageError(f"{path}: {MANIFEST} was not written by metro.")
    if json.loads(_seal(manifest))["checksum"] != manifest["checksum"]:
        raise StorageError(
            f"{path}: {MANIFEST} is damaged (its checksum does not match). "
            f"Restore it or make it anew."
        )
    return place, manifest


def load_arrays(
    place: Path, manifest: Mapping[str, Any], *, verify: bool
) -> dict[str, NDArray[Any]]:
    """Return the arrays of a manifest, memory-mapped, sizes checked."""
    return {
        name: _load_array(place / f"{name}.npy", described, verify=verify)
        for name, described in manifest["arrays"].items()
    }


def _load_array(
    file: Path, described: Mapping[str, Any], *, verify: bool
) -> NDArray[Any]:
    again = "Restore it from a copy, or make the artefact anew."
    if not file.is_file():
        raise StorageError(f"{file} is missing. {again}")
    size = file.stat().st_size
    if size != described["bytes"]:
        raise StorageError(
            f"{file} has {size} bytes, its manifest says {described['bytes']}. {again}"
        )
    if verify and _digest(file) != described["sha256"]:
        raise StorageError(f"{file} is damaged (its sha256 does not match). {again}")
    # An empty file region cannot be mapped.
    empty = 0 in described["shape"]
    try:
        array = np.asarray(
            np.load(file, mmap_mode=None if empty else "r", allow_pickle=False)
        )
    except ValueError as error:
        raise StorageError(f"{file} is damaged ({error}). {again}") from error
    found = {"dtype": array.dtype.str, "shape": list(array.shape)}
    if found != {key: described[key] for key in found}:
        raise StorageError(f"{file} is damaged: it holds {found}. {again}")
    array.setflags(write=False)
    return array


def _seal(manifest: Mapping[str, Any]) -> bytes:
    """Return the manifest as text, with the checksum of everything else in it."""
    body = {key: value for key, value in manifest.items() if key != "checksum"}
    try:
        plain = json.dumps(body, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise StorageError(
            f"Provenance must be plain JSON values: {error}. Nothing was written."
        ) from error
    sealed = {**body, "checksum": hashlib.sha256(plain.encode()).hexdigest()}
    return (json.dumps(sealed, indent=2, sort_keys=True) + "\n").encode()


def _write_array(file: Path, array: NDArray[Any]) -> dict[str, Any]:
    """Write one array and return its entry in the manifest."""
    array = np.ascontiguousarray(array)
    with file.open("wb") as stream:
        npy.write_array_header_1_0(stream, npy.header_data_from_array_1_0(array))
        stream.write(array.data)
        stream.flush()
        os.fsync(stream.fileno())
    return {
        "dtype": array.dtype.str,
        "shape": list(array.shape),
        "bytes": file.stat().st_size,
        "sha256": _digest(file),
    }


def _write_bytes(file: Path, content: bytes) -> None:
    with file.open("wb") as stream:
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())


def _digest(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def _sibling(path: Path) -> Iterator[Path]:
    """Yield a hidden directory beside ``path`` that is gone if the block fails."""
    directory = Path(tempfile.mkdtemp(prefix=_prefix(path), dir=path.parent))
    directory.chmod(0o755)
    try:
        yield directory
    except OSError as error:
        raise StorageError(f"{path} was not written: {error}") from error
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _put_in_place(directory: Path, path: Path) -> None:
    backup = _backup(path)
    if path.exists():
        shutil.rmtree(backup, ignore_errors=True)
        path.rename(backup)
    directory.rename(path)
    _sync(path.parent)
    shutil.rmtree(backup, ignore_errors=True)


def _remove_leftovers(path: Path) -> None:
    """Delete what writers of this machine left behind when they were killed."""
    if path.exists():
        shutil.rmtree(_backup(path), ignore_errors=True)
    start = f".{path.name}.{socket.gethostname()}."
    for leftover in path.parent.glob(".*"):
        if leftover.name.startswith(start):
            pid = leftover.name[len(start) :].split(".")[0]
            if pid.isdigit() and not _is_alive(int(pid)):
                shutil.rmtree(leftover, ignore_errors=True)


def _prefix(path: Path) -> str:
    return f".{path.name}.{socket.gethostname()}.{os.getpid()}."


def _backup(path: Path) -> Path:
    return path.with_name(f".{path.name}.replaced")


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # somebody else's
        return True
    return True


def _is_artefact(path: Path) -> bool:
    """Return whether a directory holds a manifest and arrays, damaged or not."""
    if not path.is_dir() or not (path / MANIFEST).is_file():
        return False
    others = [file for file in path.iterdir() if file.name != MANIFEST]
    return all(file.suffix == ".npy" for file in others)


def _sync(directory: Path) -> None:
    """Make the names in a directory durable."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
