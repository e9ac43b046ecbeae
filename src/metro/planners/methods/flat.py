"""Flat latent planning: the micro planner heads for the goal itself."""

from metro.planners.methods.method import Method, Plan, QueryLike
from metro.planners.selectors import Target
from metro.types import Vector


class GoalSelector:
    """Heads for the goal all the time: plain latent planning. Paper: Eq. 1."""

    def __init__(self, goal: Vector) -> None:
        self._goal = goal

    def __call__(self, observed: Vector, step: int) -> Target:
        """Return the goal."""
        return self._goal, "goal"


def _make_selector(plan: Plan, query: QueryLike, seed: int) -> GoalSelector:
    return GoalSelector(plan.context.goal_latent(query))


FLAT = Method("flat", label="flat", order=20, make_selector=_make_selector)
