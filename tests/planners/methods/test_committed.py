"""Without re-entry the first route is followed to its end."""

import numpy as np

from line_makers import line_graph
from metro import MetroPlanner, find_routes
from metro.planners.methods.committed import CommittedSelector


def test_committed_follows_the_first_route_wherever_it_lands():
    """Sub-goals do not depend on what is observed after the first."""
    planner = MetroPlanner(find_routes(line_graph(), np.float32([35.25])))
    first, second = CommittedSelector(planner), CommittedSelector(planner)
    start = np.float32([3])
    lost = [start] + [np.float32([place]) for place in (29, 0, 17, 8)] * 5
    told = [first(place, 0) for place in lost]
    kept = [second(start, 0) for _ in lost]
    assert [t[1] for t in told] == [k[1] for k in kept]
    for one, other in zip(told, kept, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
    costs = [sub_goal.cost_to_go for sub_goal in first.sub_goals]
    assert costs == sorted(costs, reverse=True)
    assert told[-1][0] == [35.25]


def test_committed_where_there_is_no_way():
    """Without a route the first answer stays."""
    planner = MetroPlanner(find_routes(line_graph(), np.float32([900])))
    selector = CommittedSelector(planner)
    kinds = {selector(np.float32([3]), 0)[1] for _ in range(6)}
    assert len(kinds) == 1
    assert kinds <= {"nearest_to_goal", "goal_no_route"}
