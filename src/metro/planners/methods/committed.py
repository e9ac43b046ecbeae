"""METRO without re-entry: the first route is followed to its end."""

from metro.core.planner import MetroPlanner, SubGoal, SubGoalKind
from metro.planners.methods.method import Method, Plan, QueryLike
from metro.planners.methods.metro import graph_planner
from metro.planners.selectors import HoldForNPlans, Target
from metro.types import Vector


class CommittedSelector(HoldForNPlans):
    """Solves the route once, and follows it wherever the micro planner lands.

    The ablation without re-entry. Paper: Sec. 6.3. Decision: D16.
    """

    def __init__(self, planner: MetroPlanner) -> None:
        super().__init__()
        self._planner = planner
        self.sub_goals: list[SubGoal] = []

    def choose(self, observed: Vector) -> Target:
        """Return the next sub-goal of the first route."""
        if not self.sub_goals:
            self.sub_goals.append(self._planner(observed))
        else:
            self.sub_goals.append(self._after(self.sub_goals[-1]))
        return self.sub_goals[-1].latent, self.sub_goals[-1].kind.value

    def _after(self, last: SubGoal) -> SubGoal:
        """Return the next sub-goal; at the goal, or without a route, the same."""
        # Nothing follows the goal, and without a route nothing is known to follow.
        if last.kind is not SubGoalKind.ROUTE or last.frame is None:
            return last
        return self._planner.onward(last.frame) or last


def _make_selector(plan: Plan, query: QueryLike, seed: int) -> CommittedSelector:
    return CommittedSelector(graph_planner(plan, query))


COMMITTED = Method(
    "committed",
    label="w/o re-entry",
    order=40,
    make_selector=_make_selector,
    needs_graph=True,
)
