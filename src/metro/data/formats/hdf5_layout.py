"""Names in the layout of the released corpora, for readers and the writer."""

from typing import Any

from metro.errors import MissingExtra

LENGTHS = "ep_len"
"""Column of the number of rows of every episode."""

OFFSETS = "ep_offset"
"""Column of the first row of every episode."""

PIXELS = "pixels"
"""Column of the frames."""

SETTINGS = "metro"
"""Attribute of an HDF5 file that says in JSON how metro recorded it."""

AGAIN = "It may be half written: record it or fetch it again."
"""What to do about a file that cannot be read."""


def import_h5py(path: object) -> Any:
    """Return h5py; `MissingExtra` names the file that it is wanted for."""
    try:
        import h5py
    except ImportError as error:
        raise MissingExtra(
            f'Reading {path} needs the "h5" extra: pip install "metro-wm[h5]"'
        ) from error
    return h5py
