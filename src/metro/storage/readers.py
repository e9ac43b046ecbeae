"""Latents from the files people have: ``.npz``, ``.npy``, HDF5, ``.latents``."""

from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile, ZipFile, is_zipfile

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from metro.core.graph import FrameGraph
from metro.core.latents import Latents, offsets_from_lengths
from metro.errors import LatentsError, MissingExtra, StorageError, storage_errors
from metro.files import own_datasets, reading, require_regular_file
from metro.storage.artefacts import load
from metro.storage.atomic import find, resolve

ROW_NAMES = ("z", "latents", "embeddings", "emb")
LENGTH_NAMES = ("episode_lengths", "ep_len", "lengths")
OFFSET_NAMES = ("episode_offsets", "offsets")

_AGAIN = "It may be half written: copy it or make it again."

_MOST_SHRUNK = 1_100
"""How many times smaller than its content an archive may be: DEFLATE reaches 1,032."""


def read_latents(path: str | Path, episode_lengths: str | None = None) -> Latents:
    """Return the latents in a file, whatever its format.

    Args:
        path: ``.npz`` or ``.h5`` with rows (one of `ROW_NAMES`) and lengths
            (`LENGTH_NAMES`) or offsets (`OFFSET_NAMES`); ``.npy`` with rows only; or a
            directory written by `metro.save`.
        episode_lengths: For files without lengths: one number for all episodes, or
            a ``.npy`` or text file with one length per episode.
    """
    path = Path(path)
    with storage_errors(f"{path} cannot be read"):
        place = find(resolve(path))
    if place is None:
        raise StorageError(f"{path} does not exist.")
    if place.is_dir():
        return _from_artefact(path, episode_lengths)
    readers = {".npz": _read_npz, ".npy": _read_npy, ".h5": _read_h5, ".hdf5": _read_h5}
    if path.suffix not in readers:
        raise StorageError(
            f"{path} is not a format that metro reads. "
            f"It reads {', '.join(readers)} and directories written by metro."
        )
    require_regular_file(place)
    with reading(path, StorageError, _AGAIN):
        columns = readers[path.suffix](path)
    rows = _pick(path, columns, ROW_NAMES)
    if rows.ndim != 2:
        raise LatentsError(f"{path}: rows must have shape [N, D], got {rows.shape}.")
    offsets = _offsets(path, columns, episode_lengths, len(rows))
    return Latents(rows, offsets, {"latents": path.name})


def _from_artefact(path: Path, episode_lengths: str | None) -> Latents:
    """Return the latents of a directory of ours, its digests checked.

    They stand for the check of every value that other files go through.
    """
    if episode_lengths is not None:
        raise LatentsError(
            f"{path} says itself where episodes end; give no --episode-lengths with it."
        )
    artefact = load(path, verify=True)
    return artefact.latents if isinstance(artefact, FrameGraph) else artefact


def _read_npz(path: Path) -> dict[str, NDArray[Any]]:
    # np.load would return the rows of a plain .npy under this name, without lengths.
    if not is_zipfile(path):
        raise BadZipFile("it is no .npz archive")
    # Opened here: np.load leaves a file open when it fails halfway.
    with path.open("rb") as stream, ZipFile(stream) as archive:
        known = ROW_NAMES + LENGTH_NAMES + OFFSET_NAMES
        most = _MOST_SHRUNK * path.stat().st_size
        columns: dict[str, NDArray[Any]] = {}
        for entry in archive.infolist():
            name = entry.filename.removesuffix(".npy")
            columns[name] = np.empty(0)
            if name in known:
                with archive.open(entry) as member:
                    columns[name] = _read_array(member, min(entry.file_size, most))
        return columns


def _read_npy(path: Path) -> dict[str, NDArray[Any]]:
    require_regular_file(path)
    with path.open("rb") as stream:
        return {"z": _read_array(stream, path.stat().st_size)}


def _read_array(stream: IO[bytes], size: int) -> NDArray[Any]:
    """Return the array in an open ``.npy`` file of ``size`` bytes."""
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    version = npy.read_magic(stream)
    if version not in readers:
        raise ValueError(f"it has npy version {version}")
    shape, _, dtype = readers[version](stream)
    # Before memory is asked for: a header may name any shape.
    if stream.tell() + np.prod(shape, dtype=object) * dtype.itemsize > size:
        raise ValueError(f"it is too short for its shape {shape}")
    stream.seek(0)
    return np.asarray(npy.read_array(stream, allow_pickle=False))


def _read_h5(path: Path) -> dict[str, NDArray[Any]]:
    try:
        import h5py
    except ImportError as error:
        raise MissingExtra(
            f'Reading {path} needs the "h5" extra: pip install "metro-wm[h5]"'
        ) from error
    known = ROW_NAMES + LENGTH_NAMES + OFFSET_NAMES
    with h5py.File(path, "r") as file:
        datasets = own_datasets(path, file, StorageError, _AGAIN)
        for name in known:
            if name in file and name not in datasets:
                raise ValueError(f"{name} is no dataset of numbers")
        return {
            name: np.asarray(item[()]) if name in known else np.empty(0)
            for name, item in datasets.items()
        }


def _pick(
    path: Path, columns: Mapping[str, NDArray[Any]], names: tuple[str, ...]
) -> NDArray[Any]:
    for name in names:
        if name in columns:
            return columns[name]
    raise LatentsError(
        f"{path} has none of {', '.join(names)}; it has {', '.join(columns) or 'none'}."
    )


def _offsets(
    path: Path,
    columns: Mapping[str, NDArray[Any]],
    episode_lengths: str | None,
    num_rows: int,
) -> NDArray[np.int64]:
    if episode_lengths is not None:
        lengths = _given_lengths(episode_lengths, num_rows)
        return offsets_from_lengths(lengths)
    for name in OFFSET_NAMES:
        if name in columns:
            return columns[name]
    for name in LENGTH_NAMES:
        if name in columns:
            return offsets_from_lengths(columns[name])
    cure = "Give --episode-lengths."
    if path.suffix != ".npy":
        names = ", ".join(LENGTH_NAMES + OFFSET_NAMES)
        cure = f"Add one of {names} to it, or give --episode-lengths."
    raise LatentsError(f"{path} does not say where episodes end. {cure}")


def _given_lengths(given: str, num_rows: int) -> NDArray[np.int64]:
    if given.isdecimal():
        length = int(given)
        if length < 1 or num_rows % length:
            raise LatentsError(
                f"{num_rows} rows are no whole number of episodes of {length} frames."
            )
        return np.full(num_rows // length, length)
    require_regular_file(given)
    with reading(given, StorageError, "It must hold one length per episode."):
        if given.endswith(".npy"):
            return _read_npy(Path(given))["z"]
        return np.loadtxt(given, dtype=np.int64, ndmin=1)
