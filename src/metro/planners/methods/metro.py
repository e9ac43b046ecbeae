"""METRO: sub-goals retrieved from the graph, which is entered again and again.

Beside the paper's way there are three options: bridges priced by ``reach``, micro plans
that start from the ``recorded`` actions of the route, and both.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from metro.core.planner import MacroPlanner, MetroPlanner, SubGoal
from metro.errors import BenchmarkError
from metro.planners.closed_loop import MicroPlanner
from metro.planners.methods.method import Method, Plan, QueryLike, plan_with_cem
from metro.planners.selectors import PLANS_PER_SUB_GOAL, HoldForNPlans, Target
from metro.types import Vector

if TYPE_CHECKING:
    from metro.planners.proposals import RecordedActions

REACH, RECORDED, BOTH = "reach", "recorded", "reach-recorded"

PRICED_BY_REACH = (REACH, BOTH)
"""Options that need a graph with reach distances."""


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


class RecordedSelector(MetroSelector):
    """Heads for retrieved sub-goals and proposes the actions that once led there.

    The graph is entered before every micro plan: a second plan for the same sub-goal
    would start from actions that are over. Decision: D38.

    Args:
        planner: Answers an observation with a sub-goal.
        recorded: The actions of the graph's corpus.
    """

    def __init__(self, planner: MacroPlanner, recorded: "RecordedActions") -> None:
        super().__init__(planner, plans_per_sub_goal=1)
        self._recorded = recorded

    def propose(self, count: int) -> NDArray[np.float32]:
        """Return the recorded actions ``[count, A]`` along the route."""
        return self._recorded.along(self.sub_goals[-1].path, count)


def graph_planner(plan: Plan, query: QueryLike) -> MetroPlanner:
    """Return the planner of a query's goal, for the plan's waypoint budget."""
    if plan.waypoint_budget is None:
        raise BenchmarkError("waypoint_budget must be given: this method has a graph.")
    return plan.context.planner_for(plan.waypoint_budget, query, plan.option)


def _make_selector(plan: Plan, query: QueryLike, seed: int) -> MetroSelector:
    planner = graph_planner(plan, query)
    if plan.option in (RECORDED, BOTH):
        return RecordedSelector(planner, plan.context.recorded_actions())
    return MetroSelector(planner)


def _make_micro_planner(
    plan: Plan, queries: Sequence[QueryLike], seeds: Sequence[int]
) -> MicroPlanner:
    if plan.option not in (RECORDED, BOTH):
        return plan_with_cem(plan, queries, seeds)
    # Here and not above: reports name methods on machines without torch.
    from metro.planners.micro import CEMPlanner
    from metro.planners.proposals import RECORDED_SEARCH

    context = plan.context
    return CEMPlanner(
        context.model,
        replace(RECORDED_SEARCH, plan_blocks=plan.plan_blocks),
        seeds,
        action_stats=context.action_stats,
        spread=context.recorded_spread(),
    )


METRO = Method(
    "metro",
    label="metro",
    order=10,
    make_selector=_make_selector,
    make_micro_planner=_make_micro_planner,
    needs_graph=True,
    options=(REACH, RECORDED, BOTH),
)
