"""Which latent a query heads for: the goal itself, or sub-goals on the way to it."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from metro.core.gaps import squared_gaps
from metro.core.planner import MacroPlanner, MetroPlanner, SubGoal, SubGoalKind
from metro.types import Vector

PLANS_PER_SUB_GOAL = 2
"""Micro plans between two entries into the graph: one, and one replan. Sec. 5.4."""

Target = tuple[Vector, str]
"""What to head for, and a word for why."""


class GoalSelector:
    """Heads for the goal all the time: plain latent planning. Paper: Eq. 1."""

    def __init__(self, goal: Vector) -> None:
        self._goal = goal

    def __call__(self, observed: Vector, step: int) -> Target:
        """Return the goal."""
        return self._goal, "goal"


class HoldForNPlans:
    """Keeps a target for two micro plans, then asks for the next."""

    def __init__(self, plans_per_sub_goal: int = PLANS_PER_SUB_GOAL) -> None:
        self._patience, self._plans = plans_per_sub_goal, 0
        self._target: Target | None = None

    def _held(self, choose: Callable[[], Target]) -> Target:
        if self._target is None or self._plans % self._patience == 0:
            self._target = choose()
        self._plans += 1
        return self._target


class MetroSelector(HoldForNPlans):
    """Heads for retrieved sub-goals, each for two micro plans.

    Paper: Alg. 1, Sec. 5.4.

    Args:
        planner: Answers an observation with a sub-goal.
        plans_per_sub_goal: Micro plans before the graph is entered again.
    """

    def __init__(
        self, planner: MacroPlanner, plans_per_sub_goal: int = PLANS_PER_SUB_GOAL
    ) -> None:
        super().__init__(plans_per_sub_goal)
        self._planner = planner
        self.sub_goals: list[SubGoal] = []

    def __call__(self, observed: Vector, step: int) -> Target:
        """Return the present sub-goal, asking for a new one when it is time."""
        return self._held(lambda: self._ask(observed))

    def _ask(self, observed: Vector) -> Target:
        self.sub_goals.append(self._planner(observed))
        return self.sub_goals[-1].latent, self.sub_goals[-1].kind.value


class CommittedSelector(HoldForNPlans):
    """Solves the route once, and follows it wherever the micro planner lands.

    The ablation without re-entry. Paper: Sec. 6.3. Decision: D16.
    """

    def __init__(self, planner: MetroPlanner) -> None:
        super().__init__()
        self._planner = planner
        self.sub_goals: list[SubGoal] = []

    def __call__(self, observed: Vector, step: int) -> Target:
        """Return the present sub-goal of the first route."""
        return self._held(lambda: self._follow(observed))

    def _follow(self, observed: Vector) -> Target:
        if not self.sub_goals:
            self.sub_goals.append(self._planner(observed))
        else:
            self.sub_goals.append(self._after(self.sub_goals[-1]))
        return self.sub_goals[-1].latent, self.sub_goals[-1].kind.value

    def _after(self, last: SubGoal) -> SubGoal:
        """Return the next sub-goal; at the goal, or without a route, the same."""
        if last.kind is not SubGoalKind.ROUTE or last.frame is None:
            return last
        return self._planner.onward(last.frame) or last


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

    def __call__(self, observed: Vector, step: int) -> Target:
        """Return the recorded frame one hop after the most alike, at most the goal."""
        return self._held(lambda: self._localise(observed))

    def _localise(self, observed: Vector) -> Target:
        here = int(np.argmin(squared_gaps(self._own, observed)))
        return _ahead(self._own, here + self._hop)


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
        return _ahead(self._own, step + self._hop)


def _ahead(own: NDArray[np.float32], frame: int) -> Target:
    last = len(own) - 1
    return own[min(frame, last)], "goal" if frame >= last else "own_frame"
