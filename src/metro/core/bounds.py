"""Lower bounds that keep a search narrow: how far a frame is from where we are.

With them frames are settled by J(u) + bound(u) instead of J(u): first those on the way
from the goal to us, instead of all that are as near to the goal as we are. J and succ
of what is settled are the same bits.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metro.types import Costs

LARGEST = 4_096.0
"""Frames; what is further from a landmark counts as that far."""

SHARE = 0.999
"""Of a bound that is used. Along an edge of cost w the whole bound changes by at most
w, and float32 is off by at most 2.5e-4 below `LARGEST`; the thousandth that is left out
is more than both ends can be off, so that bounds never fall short of an edge's cost."""


class Bounds(NamedTuple):
    """Least frames from an observation to every frame, by way of landmarks.

    A frame u that is ``costs[u, l]`` from landmark l is at least
    ``reach[l] - costs[u, l]`` from an observation that is ``reach[l]`` from it.

    Attributes:
        costs: ``[N, L]`` float32, frames from every frame to each landmark.
        reach: ``[L]`` float64, frames from the observation to each landmark.
        share: `SHARE`; compiled kernels are kept on disk and would not see it change.
    """

    costs: NDArray[np.float32]
    reach: Costs
    share: float = SHARE

    def of(self, frames: NDArray[Any]) -> Costs:
        """Return the bounds of frames ``[n]``; 0 without landmarks."""
        if len(self.reach) == 0:
            return np.zeros(len(frames))
        short = self.reach - self.costs[frames].astype(np.float64)
        bounds: Costs = self.share * short.max(axis=1, initial=0.0)
        return bounds


def no_bounds() -> Bounds:
    """Return what knows nothing: frames are settled by J alone."""
    return Bounds(_NO_COSTS, _NO_REACH)


_NO_COSTS, _NO_REACH = np.empty((0, 0), dtype=np.float32), np.empty(0)
for _array in (_NO_COSTS, _NO_REACH):
    _array.setflags(write=False)  # of one kind with landmarks': one kernel serves both
