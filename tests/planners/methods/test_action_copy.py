"""Recorded actions along the route are executed as they are."""

import numpy as np

from line_makers import Line, Walker, line_graph
from metro import MetroPlanner, find_routes
from metro.evaluation.rollout import Rollout, run_rollouts
from metro.planners.methods.action_copy import CopyPlanner
from metro.planners.methods.metro import RecordedSelector
from metro.planners.proposals import RecordedActions


class Sight(Walker):
    """A world model of the line: it sees the place, and must not predict."""

    action_size = 1


def drive(goal, steps):
    """Copy from place 3; both recordings of the line walk half a tick a frame."""
    graph = line_graph()
    actions = np.full((graph.num_frames, 1), 0.5, dtype=np.float32)
    actions[graph.latents.episode_offsets[1:] - 1] = np.nan
    recorded = RecordedActions(graph.latents, actions)
    routes = find_routes(graph, np.float32([goal]))
    selector = RecordedSelector(MetroPlanner(routes), recorded)
    env = Line(3, goal)
    only = Rollout(env, env.render(), selector, is_presolved=False)
    run_rollouts([only], CopyPlanner(Sight(1), 4), step_budget=steps, record=True)
    return only, selector


def test_recorded_actions_are_executed_and_the_graph_is_entered_before_every_plan():
    """Half a tick a step, as recorded, whatever the target; four steps a plan."""
    only, selector = drive(goal=13.25, steps=60)
    places = [float(state["place"][0]) for state in only.path]
    assert np.diff([3.0, *places]).tolist() == [0.5] * len(places)
    assert only.frames_to_success == len(places) == 20
    assert len(selector.sub_goals) == 5


def test_where_no_action_is_known_it_stands_still():
    """Without a route nothing is proposed, and NaN never reaches an environment."""
    proposed = np.float32([[[1.0], [np.nan]]])
    planner = CopyPlanner(Sight(1), 2)
    observed = np.zeros((1, 1), dtype=np.float32)
    assert planner.plan(observed, observed, [0], proposed).ravel().tolist() == [1, 0]
    assert planner.plan(observed, observed, [0]).ravel().tolist() == [0, 0]
