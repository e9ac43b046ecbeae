"""Latents from the files people have: ``.npz``, ``.npy``, HDF5, ``.latents``."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from metro.errors import LatentsError, MissingExtra, StorageError
from metro.graph import FrameGraph
from metro.latents import Latents, offsets_from_lengths
from metro.storage import load

ROW_NAMES = ("z", "latents", "embeddings", "emb")
LENGTH_NAMES = ("episode_lengths", "ep_len", "lengths")
OFFSET_NAMES = ("episode_offsets", "offsets")


def read_latents(path: str | Path, episode_lengths: str | None = None) -> Latents:
    """Return the latents in a file, whatever its format.

    Args:
        path: ``.npz`` or ``.h5`` with rows (one of `ROW_NAMES`) and lengths
            (`LENGTH_NAMES`) or offsets (`OFFSET_NAMES`); ``.npy`` with rows only; or a
            directory written by `metro.save`.
        episode_lengths: For files without lengths: a number (all episodes alike), or
            a ``.npy`` or text file of one length an episode.
    """
    path = Path(path)
    if not path.exists():
        raise StorageError(f"{path} does not exist.")
    if path.is_dir():
        return _from_artefact(path)
    readers = {".npz": _read_npz, ".npy": _read_npy, ".h5": _read_h5, ".hdf5": _read_h5}
    if path.suffix not in readers:
        raise StorageError(
            f"{path} is not a format that metro reads. "
            f"It reads {', '.join(readers)} and directories written by metro."
        )
    try:
        columns = readers[path.suffix](path)
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise StorageError(f"{path} cannot be read: {error}") from error
    rows = _pick(path, columns, ROW_NAMES)
    offsets = _offsets(path, columns, episode_lengths, len(rows))
    return Latents(rows, offsets, {"latents": path.name})


def _from_artefact(path: Path) -> Latents:
    artefact = load(path)
    return artefact.latents if isinstance(artefact, FrameGraph) else artefact


def _read_npz(path: Path) -> dict[str, NDArray[Any]]:
    with path.open("rb") as stream, np.load(stream, allow_pickle=False) as archive:
        known = ROW_NAMES + LENGTH_NAMES + OFFSET_NAMES
        return {
            name: archive[name] if name in known else np.empty(0)
            for name in archive.files
        }


def _read_npy(path: Path) -> dict[str, NDArray[Any]]:
    return {"z": np.load(path, allow_pickle=False)}


def _read_h5(path: Path) -> dict[str, NDArray[Any]]:
    try:
        import h5py
    except ImportError as error:
        raise MissingExtra(
            f'Reading {path} needs the "h5" extra: pip install "metro-wm[h5]"'
        ) from error
    known = ROW_NAMES + LENGTH_NAMES + OFFSET_NAMES
    with h5py.File(path, "r") as file:
        return {name: file[name][()] if name in known else np.empty(0) for name in file}


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
    raise LatentsError(
        f"{path} does not say where episodes end. Add one of "
        f"{', '.join(LENGTH_NAMES + OFFSET_NAMES)} to it, or give --episode-lengths."
    )


def _given_lengths(given: str, num_rows: int) -> NDArray[np.int64]:
    if given.isdigit():
        length = int(given)
        if length < 1 or num_rows % length:
            raise LatentsError(
                f"{num_rows} rows are no whole number of episodes of {length} frames."
            )
        return np.full(num_rows // length, length)
    try:
        if given.endswith(".npy"):
            return np.asarray(np.load(given, allow_pickle=False))
        return np.loadtxt(given, dtype=np.int64, ndmin=1)
    except (OSError, ValueError) as error:
        raise StorageError(f"{given} holds no episode lengths: {error}") from error
