"""METRO: sub-goals retrieved from the graph, which is entered again and again."""

from metro.core.planner import MacroPlanner, MetroPlanner, SubGoal
from metro.errors import BenchmarkError
from metro.planners.methods.method import Method, Plan, QueryLike
from metro.planners.selectors import PLANS_PER_SUB_GOAL, HoldForNPlans, Target
from metro.types import Vector


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

    def choose(self, observed: Vector) -> Target:
        """Enter the graph where the observation is, and return the next sub-goal."""
        # All are kept: a policy shows where it heads, and why.
        self.sub_goals.append(self._planner(observed))
        return self.sub_goals[-1].latent, self.sub_goals[-1].kind.value


def graph_planner(plan: Plan, query: QueryLike) -> MetroPlanner:
    """Return the planner of a query's goal, for the plan's waypoint budget."""
    if plan.waypoint_budget is None:
        raise BenchmarkError("waypoint_budget must be given: this method has a graph.")
    return plan.context.planner_for(plan.waypoint_budget, query)


def _make_selector(plan: Plan, query: QueryLike, seed: int) -> MetroSelector:
    return MetroSelector(graph_planner(plan, query))


METRO = Method(
    "metro", label="metro", order=10, make_selector=_make_selector, needs_graph=True
)
