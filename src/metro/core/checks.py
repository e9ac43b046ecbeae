"""What arrays must be: damage is reported here instead of searched."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.errors import GraphError, LatentsError
from metro.types import FrameIds, LatentArray, Offsets

_CHECK_ROWS = 65_536
_CHECK_ENTRIES = 1 << 22
"""Entries looked at together: 32 MiB of int64."""


def require_finite(z: LatentArray) -> None:
    """Raise `LatentsError` if any row has a value that is not finite."""
    wrong, first = 0, -1
    # In blocks: the mask of a whole corpus would need a quarter of its memory again.
    for start in range(0, len(z), _CHECK_ROWS):
        bad = ~np.isfinite(z[start : start + _CHECK_ROWS]).all(axis=1)
        if first < 0 and bad.any():
            first = start + int(np.argmax(bad))
        wrong += int(np.count_nonzero(bad))
    if wrong:
        raise LatentsError(
            f"{wrong} of {len(z)} latents have NaN or infinite values (in float32), "
            f"the first in row {first}. Re-encode those frames or drop the episodes."
        )


def check_bridges(
    offsets: Offsets,
    frame: FrameIds,
    cost: NDArray[np.float64],
    *,
    num_frames: int,
    waypoint_budget: int,
) -> None:
    """Raise `GraphError` unless a search can follow every bridge.

    0 = offsets[0] ≤ ... ≤ offsets[N] = 2 B, every frame in [0, N), every cost in
    [1, H]. Reads the arrays once, in blocks.
    """
    # Sizes first: the blocks below index by them.
    if len(offsets) != num_frames + 1 or offsets[0] != 0 or offsets[-1] != len(frame):
        raise _damaged(f"bridge_offsets must be [N + 1], from 0 to {len(frame)}")
    if len(cost) != len(frame):
        raise _damaged(f"{len(frame)} bridges have {len(cost)} costs")
    for start in range(0, num_frames, _CHECK_ENTRIES):
        falls = np.diff(offsets[start : start + _CHECK_ENTRIES + 1]) < 0
        if falls.any():
            raise _damaged(f"bridge_offsets falls after {start + np.argmax(falls)}")
    for start in range(0, len(frame), _CHECK_ENTRIES):
        part = slice(start, start + _CHECK_ENTRIES)
        _check_within("bridge_frame", start, frame[part], 0, num_frames - 1)
        _check_within("bridge_cost", start, cost[part], 1, waypoint_budget)


def _check_within(
    name: str, start: int, block: NDArray[Any], least: int, most: int
) -> None:
    # Negated, so that NaN, which compares false with everything, is outside too.
    outside = ~((block >= least) & (block <= most))
    if outside.any():
        first = int(np.argmax(outside))
        raise _damaged(
            f"entry {start + first} of {name} is {block[first]}, "
            f"not within [{least}, {most}]"
        )


def _damaged(what: str) -> GraphError:
    return GraphError(
        f"The graph is damaged: {what}. Load it with verify=True to see which file, "
        f"and build it again."
    )


def check_cells(cells: Mapping[str, NDArray[Any]], num_frames: int) -> None:
    """Raise `GraphError` unless cells hold every frame once, in sizes that fit."""
    frame, offsets = cells["frame"], cells["offsets"]
    room = cells["coordinates"].shape[-1]
    sizes = np.diff(offsets)
    if offsets[0] != 0 or offsets[-1] != num_frames or len(frame) != num_frames:
        raise _damaged(f"cell_offsets must run from 0 to {num_frames}")
    if sizes.min() < 1 or sizes.max() > room or len(sizes) != len(cells["radius"]):
        raise _damaged(f"every cell must hold 1 to {room} frames")
    if not np.array_equal(
        np.bincount(frame.clip(0), minlength=num_frames), np.ones(num_frames)
    ):
        raise _damaged("cell_frame must hold every frame once")
