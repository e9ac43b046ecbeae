"""Which arrays a file holds: their names, types and sizes."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.errors import StorageError
from metro.types import FrameIds, Offsets

LAYOUT = {
    "z": ("float32", 2),
    "episode_offsets": ("int64", 1),
    "neighbour_frame": ("int32", 2),
    "neighbour_gap": ("float64", 2),
    "pricing_gaps": ("float64", 1),
    "bridge_offsets": ("int64", 1),
    "bridge_frame": ("int32", 1),
    "bridge_cost": ("float64", 1),
    "cell_frame": ("int32", 1),
    "cell_offsets": ("int64", 1),
    "cell_centres": ("float32", 2),
    "cell_bases": ("float32", 3),
    "cell_coordinates": ("float32", 3),
    "cell_boxes": ("float32", 3),
    "cell_reach": ("float32", 1),
    "cell_radius": ("float32", 1),
}
"""Type and number of dimensions of every array that metro writes."""

CELL = "cell_"
"""How the names of the index's arrays start; a small corpus has none."""


def check_layout(arrays: Mapping[str, NDArray[Any]], names: Iterable[str]) -> None:
    """Raise `StorageError` unless each named array has its type and dimensions."""
    for name in names:
        if name not in arrays:
            raise StorageError(f"{name} is missing")
        found = (arrays[name].dtype.name, arrays[name].ndim)
        if found != LAYOUT[name]:
            wanted, ndim = LAYOUT[name]
            raise StorageError(
                f"{name} must be a {ndim}-d array of {wanted}, "
                f"got {found[1]}-d of {found[0]}"
            )


def check_bridge_sizes(
    offsets: Offsets, frame: FrameIds, cost: NDArray[np.float64], num_frames: int
) -> None:
    """Raise `StorageError` if bridges cannot fit; reads the first and last offset."""
    if len(offsets) != num_frames + 1 or len(frame) != len(cost):
        raise StorageError("bridges and latents differ in size")
    if offsets[0] != 0 or offsets[-1] != len(frame):
        raise StorageError(
            f"bridge_offsets must run from 0 to the {len(frame)} entries of "
            f"bridge_frame, got {offsets[0]} to {offsets[-1]}"
        )
