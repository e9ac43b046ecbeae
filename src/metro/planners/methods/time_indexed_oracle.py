"""The time-indexed oracle: the query's own recording, followed by the clock."""

import numpy as np
from numpy.typing import NDArray

from metro.planners.methods.method import Method, Plan, QueryLike
from metro.planners.methods.oracle import recorded_target
from metro.planners.selectors import Target
from metro.types import Vector


class TimeIndexedSelector:
    """Heads for the query's own recording by the clock: a ceiling for sub-goals.

    Args:
        own: ``[d + 1, D]`` latents of the recording from the start to the goal.
        hop: Frames of one micro plan, plan_blocks * action_block.
    """

    def __init__(self, own: NDArray[np.float32], hop: int) -> None:
        self._own, self._hop = own, hop

    def __call__(self, observed: Vector, step: int) -> Target:
        """Return where the recording was one hop later than now."""
        return recorded_target(self._own, step + self._hop)


def _make_selector(plan: Plan, query: QueryLike, seed: int) -> TimeIndexedSelector:
    return TimeIndexedSelector(plan.context.own_latents(query), plan.frames)


# Rows written since the first release call it "waypoints", so the name stays.
TIME_INDEXED_ORACLE = Method(
    "waypoints",
    label="time-indexed oracle",
    order=50,
    make_selector=_make_selector,
    aliases=("time-indexed-oracle",),
)
