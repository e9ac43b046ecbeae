"""OGBench's visual datasets: one ``.npz`` of observations, actions and terminals."""

from pathlib import Path
from zipfile import ZipFile

import numpy as np

from metro.data.formats.archive import load_archive
from metro.data.formats.hdf5_layout import AGAIN, PIXELS
from metro.data.formats.npz import ArraySource
from metro.errors import CorpusError
from metro.files import DAMAGE, reading

_MEMBERS = {"observations.npy", "actions.npy", "terminals.npy"}


def is_ogbench(place: Path) -> bool:
    """Return whether an archive has the three arrays of OGBench."""
    try:
        with ZipFile(place) as archive:
            return _MEMBERS <= set(archive.namelist())
    except DAMAGE:
        # Whoever opens it says what is wrong.
        return False


def open_ogbench(place: Path) -> ArraySource:
    """Return the episodes: the last row of each is where ``terminals`` is 1."""
    with reading(place, CorpusError, AGAIN):
        arrays = load_archive(place)
        frames, ends = arrays.pop("observations"), arrays.pop("terminals")
        arrays["action"] = arrays.pop("actions")
        if len(frames.shape) != 4:
            raise CorpusError(
                f"{place} has observations of shape {list(frames.shape)}, which are no "
                f"pictures: metro plans from pictures. Fetch the visual-... dataset."
            )
        arrays[PIXELS] = frames
        (last,) = np.nonzero(ends)
        if ends.shape != (len(frames),) or not len(last) or last[-1] != len(frames) - 1:
            raise CorpusError(
                f"{place}: the last of its {len(frames)} rows ends no episode "
                f"(terminals). {AGAIN}"
            )
        lengths = np.diff(last, prepend=-1)
        return ArraySource("OGBench (npz)", arrays, lengths)
