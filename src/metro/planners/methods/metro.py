"""METRO: sub-goals retrieved from the graph, which is entered again and again.

Beside the paper's way there are three options, alone or together: bridges priced by
``reach``, micro plans that start from the ``recorded`` actions of the route, and a
``memory`` of what was tried in vain.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from metro.core.planner import MacroPlanner, MetroPlanner, SubGoal
from metro.errors import BenchmarkError
from metro.planners.closed_loop import MicroPlanner
from metro.planners.memory import RememberingPlanner
from metro.planners.methods.method import Method, Plan, QueryLike, plan_with_cem
from metro.planners.selectors import PLANS_PER_SUB_GOAL, HoldForNPlans, Target
from metro.types import Vector

if TYPE_CHECKING:
    from metro.planners.proposals import RecordedActions

REACH, RECORDED, MEMORY = _WORDS = ("reach", "recorded", "memory")

OPTIONS = tuple(
    "-".join(words)
    for count in range(1, len(_WORDS) + 1)
    for words in combinations(_WORDS, count)
)
"""Every choice of words, such as ``reach-recorded``; rows have them by these names."""


LEARNED = "learned"
BY_HEAD = (LEARNED, f"{LEARNED}-{RECORDED}")
"""Options of the study learned-reach alone: a trained head prices. Decision: D41."""


def option_has(option: str | None, word: str) -> bool:
    """Return whether an option includes one of the words that options consist of."""
    return option is not None and word in option.split("-")


def is_priced_by_reach(option: str | None) -> bool:
    """Return whether an option needs a graph with reach distances."""
    return option_has(option, REACH) or option_has(option, LEARNED)


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


def select_sub_goals(
    planner: MetroPlanner,
    plan_frames: int,
    *,
    recorded: "RecordedActions | None" = None,
    memory: bool = False,
) -> MetroSelector:
    """Return the selector of one episode.

    Args:
        planner: Answers an observation with a sub-goal.
        plan_frames: Environment steps of one micro plan.
        recorded: Actions that micro plans start from; None: they start from nothing.
        memory: Charge what was tried in vain. Decision: D39.
    """
    plans = PLANS_PER_SUB_GOAL if recorded is None else 1
    chosen: MacroPlanner = planner
    if memory:
        chosen = RememberingPlanner(planner, plans * plan_frames)
    if recorded is None:
        return MetroSelector(chosen)
    return RecordedSelector(chosen, recorded)


def _make_selector(plan: Plan, query: QueryLike, seed: int) -> MetroSelector:
    recorded = None
    if option_has(plan.option, RECORDED):
        recorded = plan.context.recorded_actions()
    return select_sub_goals(
        graph_planner(plan, query),
        plan.frames,
        recorded=recorded,
        memory=option_has(plan.option, MEMORY),
    )


def _make_micro_planner(
    plan: Plan, queries: Sequence[QueryLike], seeds: Sequence[int]
) -> MicroPlanner:
    if not option_has(plan.option, RECORDED):
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
    options=(*OPTIONS, *BY_HEAD),
)
