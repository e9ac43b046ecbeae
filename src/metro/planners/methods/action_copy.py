"""Action copy: the recorded actions along the route, without any search.

The question behind it: is the world model needed to drive, or only to find the route?
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.planners.methods.method import Method, Plan, QueryLike
from metro.planners.methods.metro import REACH, RecordedSelector, graph_planner
from metro.types import WorldModel


class CopyPlanner:
    """Executes what a selector proposes; a `GuessingPlanner` that does not search.

    Where nothing is known, the action is zero: there is no route, or its last recording
    is over. That is what no-op does.

    Args:
        model: Encodes the frames, so that the route can be found.
        num_frames: Actions of one plan.
    """

    def __init__(self, model: WorldModel, num_frames: int) -> None:
        self._model, self.num_frames = model, num_frames

    def encode(self, frames: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return latents ``[B, D]`` of frames ``[B, S, S, 3]``."""
        latents: NDArray[np.float32] = self._model.encode(frames)
        return latents

    def plan(
        self,
        observed: NDArray[Any],
        target: NDArray[Any],
        queries: Sequence[int],
        proposed: NDArray[np.float32] | None = None,
    ) -> NDArray[np.float32]:
        """Return the proposed raw actions ``[B, frames, A]``, NaN replaced by zero."""
        if proposed is None:
            shape = (len(observed), self.num_frames, self._model.action_size)
            return np.zeros(shape, dtype=np.float32)
        return np.nan_to_num(proposed, nan=0.0)


def _make_selector(plan: Plan, query: QueryLike, seed: int) -> RecordedSelector:
    return RecordedSelector(graph_planner(plan, query), plan.context.recorded_actions())


def _make_micro_planner(
    plan: Plan, queries: Sequence[QueryLike], seeds: Sequence[int]
) -> CopyPlanner:
    return CopyPlanner(plan.context.model, plan.frames)


ACTION_COPY = Method(
    "action-copy",
    label="action copy",
    order=85,
    make_selector=_make_selector,
    make_micro_planner=_make_micro_planner,
    needs_graph=True,
    options=(REACH,),
)
