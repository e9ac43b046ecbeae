"""The oracle: sub-goals from the query's own recording, at the most similar frame."""

import numpy as np
from numpy.typing import NDArray

from metro.kernels.neighbours.gaps import squared_gaps
from metro.planners.methods.method import Method, Plan, QueryLike
from metro.planners.selectors import HoldForNPlans, Target
from metro.types import Vector


class OracleSelector(HoldForNPlans):
    """Heads for the query's own recording, one micro plan ahead of where it is.

    Privileged: the recording is what `held_out` keeps from metro. Where it is, is the
    frame between start and goal that looks most like the observation.

    Paper: Sec. 6.3. Decision: D17.

    Args:
        own: ``[d + 1, D]`` latents of the recording from the start to the goal.
        hop: Frames of one micro plan, plan_blocks * action_block.
    """

    def __init__(self, own: NDArray[np.float32], hop: int) -> None:
        super().__init__()
        self._own, self._hop = own, hop

    def choose(self, observed: Vector) -> Target:
        """Return the recorded frame one hop after the most alike, at most the goal."""
        # The whole way is searched each time: the micro planner may have gone back.
        here = int(np.argmin(squared_gaps(self._own, observed)))
        return recorded_target(self._own, here + self._hop)


def recorded_target(own: NDArray[np.float32], frame: int) -> Target:
    """Return a frame of the recording ``[d + 1, D]`` as a target, at most the goal."""
    last = len(own) - 1
    return own[min(frame, last)], "goal" if frame >= last else "own_frame"


def _make_selector(plan: Plan, query: QueryLike, seed: int) -> OracleSelector:
    return OracleSelector(plan.context.own_latents(query), plan.frames)


ORACLE = Method("oracle", label="oracle", order=30, make_selector=_make_selector)
