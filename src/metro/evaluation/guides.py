"""Which latent a query heads for: the goal itself, or sub-goals from the graph."""

from metro.planner import SubGoal, SubGoalKind
from metro.types import MacroPlanner, Vector

PLANS_PER_SUB_GOAL = 2
"""Micro plans between two entries into the graph: one, and one replan. Sec. 5.4."""


class FlatGuide:
    """Heads for the goal all the time: plain latent planning. Paper: Eq. 1."""

    def __init__(self, goal: Vector) -> None:
        self._goal = goal

    def __call__(self, observed: Vector, step: int) -> tuple[Vector, str]:
        """Return the goal."""
        return self._goal, "goal"


class MetroGuide:
    """Heads for retrieved sub-goals, each for two micro plans.

    Paper: Alg. 1, Sec. 5.4.

    Args:
        planner: Answers an observation with a sub-goal.
        plans_per_sub_goal: Micro plans before the graph is entered again.
    """

    def __init__(
        self, planner: MacroPlanner, plans_per_sub_goal: int = PLANS_PER_SUB_GOAL
    ) -> None:
        self._planner = planner
        self._patience = plans_per_sub_goal
        self._plans = 0
        self._sub_goal: SubGoal | None = None
        self.sub_goals: list[SubGoal] = []

    def __call__(self, observed: Vector, step: int) -> tuple[Vector, str]:
        """Return the present sub-goal, asking for a new one when it is time."""
        if self._sub_goal is None or self._plans % self._patience == 0:
            self._sub_goal = self._planner(observed)
            self.sub_goals.append(self._sub_goal)
        self._plans += 1
        return self._sub_goal.latent, self._sub_goal.kind.value


GOAL_KINDS = (SubGoalKind.GOAL_IN_REACH, SubGoalKind.GOAL_NO_ROUTE)
"""Sub-goals that are the goal itself."""
