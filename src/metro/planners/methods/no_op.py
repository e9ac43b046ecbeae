"""No-op: zero actions, to see what happens without a planner."""

from collections.abc import Sequence

import numpy as np

from metro.planners.methods.method import Method, Plan, QueryLike
from metro.planners.methods.replay import ReplayPlanner
from metro.planners.open_loop import NoSelector


def _make_micro_planner(
    plan: Plan, queries: Sequence[QueryLike], seeds: Sequence[int]
) -> ReplayPlanner:
    # An empty script, which `ReplayPlanner` fills up with zeros.
    empty = np.zeros((0, plan.context.benchmark.action_size), dtype=np.float32)
    return ReplayPlanner([empty] * len(queries), plan.frames)


# Rows written since the first release call it "stay", so the name stays.
NO_OP = Method(
    "stay",
    label="no-op",
    order=110,
    make_selector=NoSelector.for_query,
    make_micro_planner=_make_micro_planner,
    aliases=("no-op",),
    needs_model=False,
    has_plans=False,
)
