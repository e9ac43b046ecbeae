"""Random actions: the floor of every comparison."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.planners.methods.method import Method, Plan, QueryLike
from metro.planners.open_loop import NoSelector


class RandomPlanner(NoSelector):
    """Uniform actions in [-1, 1], the range of all four environments.

    Args:
        action_size: A.
        frames: Actions of a plan.
        seeds: Random seed of each query.
    """

    def __init__(self, action_size: int, frames: int, seeds: Sequence[int]) -> None:
        self._shape = (frames, action_size)
        # A stream for each query: what is planned beside it must not matter.
        self._streams = [np.random.default_rng(seed) for seed in seeds]

    def plan(
        self, observed: NDArray[Any], target: NDArray[Any], queries: Sequence[int]
    ) -> NDArray[np.float32]:
        """Return random actions ``[B, frames, A]``."""
        drawn = [self._streams[query].uniform(-1, 1, self._shape) for query in queries]
        return np.stack(drawn).astype(np.float32)


def _make_micro_planner(
    plan: Plan, queries: Sequence[QueryLike], seeds: Sequence[int]
) -> RandomPlanner:
    return RandomPlanner(plan.context.benchmark.action_size, plan.frames, seeds)


RANDOM = Method(
    "random",
    label="random",
    order=100,
    make_selector=NoSelector.for_query,
    make_micro_planner=_make_micro_planner,
    needs_model=False,
    has_plans=False,
)
