"""METRO enters the graph again and again."""

import numpy as np

from line_makers import Line, Walker, line_graph
from metro import MetroPlanner, find_routes
from metro.evaluation.rollout import Rollout, run_rollouts
from metro.planners.methods.metro import MetroSelector


def test_metro_re_enters_every_second_plan():
    """One plan and one replan per sub-goal; then the graph is asked again."""
    routes = find_routes(line_graph(), np.float32([35.25]))
    selector = MetroSelector(MetroPlanner(routes))
    env = Line(3, 35.25)
    only = Rollout(env, env.render(), selector, is_presolved=False)
    run_rollouts([only], Walker(frames=2), step_budget=80)
    assert only.frames_to_success is not None
    plans = sum(only.kinds.values())
    assert len(selector.sub_goals) == -(-plans // 2)
    assert only.kinds["route"] > 0
