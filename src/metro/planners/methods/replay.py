"""Action replay: the recorded actions of the query, whatever they lead to."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.planners.methods.method import Method, Plan, QueryLike
from metro.planners.open_loop import NoSelector


class ReplayPlanner(NoSelector):
    """Actions known beforehand; zeros when they are used up.

    Args:
        scripts: ``[frames, A]`` recorded actions for each query; may be empty.
        frames: Actions of a plan.
    """

    def __init__(self, scripts: Sequence[NDArray[np.float32]], frames: int) -> None:
        self._scripts, self._frames = scripts, frames
        self._done = [0] * len(scripts)

    def plan(
        self, observed: NDArray[Any], target: NDArray[Any], queries: Sequence[int]
    ) -> NDArray[np.float32]:
        """Return the next actions ``[B, frames, A]``."""
        return np.stack([self._next(query) for query in queries])

    def _next(self, query: int) -> NDArray[np.float32]:
        script, first = self._scripts[query], self._done[query]
        self._done[query] += self._frames
        # T may be longer than the recording, and plans of a batch must be equally long.
        actions = np.zeros((self._frames, script.shape[1]), dtype=np.float32)
        left = script[first : first + self._frames]
        actions[: len(left)] = left
        return actions


def _make_micro_planner(
    plan: Plan, queries: Sequence[QueryLike], seeds: Sequence[int]
) -> ReplayPlanner:
    scripts = [plan.context.own_actions(query) for query in queries]
    return ReplayPlanner(scripts, plan.frames)


REPLAY = Method(
    "replay",
    label="action replay",
    order=90,
    make_selector=NoSelector.for_query,
    make_micro_planner=_make_micro_planner,
    needs_model=False,
    has_plans=False,
)
