"""What arrays must be: damage is reported here instead of searched."""

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
    most: float,
) -> None:
    """Raise `GraphError` unless a search can follow every bridge.

    0 = offsets[0] ≤ ... ≤ offsets[N] = E, every frame in [0, N), ascending among the
    bridges into one frame, every cost in [1, most].
    """
    if any(array.ndim != 1 for array in (offsets, frame, cost)):
        raise _damaged("bridges must be 1-d arrays")
    # Sizes first: the blocks below index by them.
    if len(offsets) != num_frames + 1 or offsets[0] != 0 or offsets[-1] != len(frame):
        raise _damaged(f"bridge_offsets must be [N + 1], from 0 to {len(frame)}")
    if len(cost) != len(frame):
        raise _damaged(f"{len(frame)} bridges have {len(cost)} costs")
    falls = np.flatnonzero(offsets[1:] < offsets[:-1])
    if len(falls):
        raise _damaged(f"bridge_offsets falls after {falls[0]}")
    check_within("bridge_frame", frame, 0, num_frames - 1)
    check_within("bridge_cost", cost, 1, most)
    # A walk looks bridges up by halving: out of order it would not find them.
    is_first = np.zeros(len(frame) + 1, dtype=np.bool_)
    is_first[offsets] = True
    falls = np.flatnonzero((frame[1:] <= frame[:-1]) & ~is_first[1:-1])
    if len(falls):
        raise _damaged(f"bridge_frame does not ascend after {falls[0]}")


def check_within(
    name: str, array: NDArray[Any], least: float, most: float = np.inf
) -> None:
    """Raise `GraphError` if any entry is outside [least, most], or NaN."""
    flat = array.reshape(-1)
    for start in range(0, len(flat), _CHECK_ENTRIES):
        block = flat[start : start + _CHECK_ENTRIES]
        # Negated: NaN, which compares false with everything, is outside too.
        if not (block.min() >= least and block.max() <= most):
            first = int(np.argmax(~((block >= least) & (block <= most))))
            raise _damaged(
                f"entry {start + first} of {name} is {block[first]}, "
                f"not within [{least}, {most}]"
            )


def _damaged(what: str) -> GraphError:
    return GraphError(
        f"The graph is damaged: {what}. Load it with verify=True to see which file, "
        f"and build it again."
    )
