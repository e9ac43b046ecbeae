"""The backward search: Bellman's equations, masks, threads, SciPy as a witness."""

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import metro
from metro.errors import GraphError, LatentsError
from metro.search import AT_GOAL, NO_ROUTE, reachable_from


def all_edges(graph):
    """Return every edge as (u, v, cost)."""
    u = np.repeat(np.arange(graph.num_frames), np.diff(graph.bridge_offsets))
    ridden = np.setdiff1d(
        np.arange(graph.num_frames), graph.latents.episode_offsets[1:] - 1
    )
    return (
        np.concatenate([ridden, u]),
        np.concatenate([ridden + 1, graph.bridge_frame]),
        np.concatenate([np.ones(len(ridden)), graph.bridge_cost]),
    )


def test_bellman_holds_on_every_edge(rooms_graph):
    """J(u) <= w(u, v) + J(v) on every edge, with equality at the successor."""
    routes = metro.find_routes(rooms_graph, rooms_graph.latents.z[1234])
    u, v, cost = all_edges(rooms_graph)
    assert (routes.cost_to_go[u] <= cost + routes.cost_to_go[v]).all()
    for frame in range(0, rooms_graph.num_frames, 7):
        following = int(routes.successor[frame])
        if following >= 0:
            step = rooms_graph.edge_cost(frame, following)
            assert routes.cost_to_go[frame] == step + routes.cost_to_go[following]


def test_scipy_finds_the_same_costs(rooms_graph):
    """A heap over the augmented graph, built anew without m*, gives the same J."""
    held_out, goal = 4, rooms_graph.latents.z[300]
    routes = metro.find_routes(rooms_graph, goal, held_out=held_out)
    u, v, cost = all_edges(rooms_graph)
    episode = rooms_graph.latents.episode_of
    kept = (episode(u) != held_out) & (episode(v) != held_out)
    seeds = np.flatnonzero(routes.successor == AT_GOAL)
    n = rooms_graph.num_frames
    backwards = csr_array(
        (
            np.concatenate([cost[kept], routes.cost_to_go[seeds]]),
            (
                np.concatenate([v[kept], np.full(len(seeds), n)]),
                np.concatenate([u[kept], seeds]),
            ),
        ),
        (n + 1, n + 1),
    )
    expected = dijkstra(backwards, indices=n)[:n]
    np.testing.assert_array_equal(routes.cost_to_go, expected)


def test_held_out_is_never_on_a_route(rooms_graph):
    """Its frames have no cost, no successor, and are nobody's successor."""
    rows = rooms_graph.latents.rows_of(7)
    goal = rooms_graph.latents.z[rows][-1]
    routes = metro.find_routes(rooms_graph, goal, held_out=7)
    assert (routes.cost_to_go[rows] == np.inf).all()
    assert (routes.successor[rows] == NO_ROUTE).all()
    taken = routes.successor[routes.successor >= 0]
    assert not ((taken >= rows.start) & (taken < rows.stop)).any()
    planner = metro.MetroPlanner(routes)
    for observed in rooms_graph.latents.z[rows]:
        sub = planner(observed)
        assert not set(sub.path) & set(range(rows.start, rows.stop))


def test_routes_end_before_the_goal(rooms_graph):
    """route() follows successors; it is empty where there is no route."""
    rows = rooms_graph.latents.rows_of(2)
    routes = metro.find_routes(rooms_graph, rooms_graph.latents.z[900], held_out=2)
    path = routes.route(5)
    assert path[0] == 5
    assert routes.successor[path[-1]] == AT_GOAL
    assert (np.diff(routes.cost_to_go[path]) <= -1).all()
    assert routes.route(rows.start) == []


def test_a_goal_out_of_reach_has_no_routes(rooms_graph):
    """No frame within the radius of the goal: no seeds, and no cost is finite."""
    routes = metro.find_routes(rooms_graph, np.full(24, 1e4))
    assert (routes.cost_to_go == np.inf).all()
    assert (routes.successor == NO_ROUTE).all()


def test_threads_share_a_graph(rooms_graph):
    """Many goals at once give what one after the other gives."""
    goals = rooms_graph.latents.z[::90]

    def costs(goal):
        return metro.find_routes(rooms_graph, goal, held_out=1).cost_to_go

    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(costs, goals))
    for goal, found in zip(goals, together, strict=True):
        np.testing.assert_array_equal(found, costs(goal))


def test_reachable_skips_the_held_out_episode(rooms_graph):
    """Nothing leads into or through m*."""
    rows = rooms_graph.latents.rows_of(3)
    reached = reachable_from(rooms_graph, np.array([0]), held_out=3)
    assert reached[0]
    assert not reached[rows].any()


@pytest.mark.parametrize("held_out", [-1, 30, 1.0, "2"])
def test_held_out_must_exist(rooms_graph, held_out):
    """The message names the range."""
    message = f"held_out must be an episode in [0, 30), got {held_out!r}."
    with pytest.raises(GraphError, match=f"^{re.escape(message)}$"):
        metro.find_routes(rooms_graph, rooms_graph.latents.z[0], held_out=held_out)


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        (np.zeros(23), "goal must have shape (24,), got (23,)."),
        (np.zeros((1, 24)), "goal must have shape (24,), got (1, 24)."),
        (np.full(24, np.nan), "goal has 24 NaN or infinite values (in float32) of 24."),
        (np.full(24, 1e39), "goal has 24 NaN or infinite values (in float32) of 24."),
        (np.zeros(24, dtype=bool), "goal must hold real numbers, got dtype bool."),
    ],
)
def test_goals_must_be_latents(rooms_graph, goal, message):
    """Wrong shape, NaN and other types are refused."""
    with pytest.raises(LatentsError, match=f"^{re.escape(message)}$"):
        metro.find_routes(rooms_graph, goal)


def test_frames_must_exist(rooms_graph):
    """route() of a frame that is not there."""
    routes = metro.find_routes(rooms_graph, rooms_graph.latents.z[0])
    with pytest.raises(GraphError, match=r"frame must be a frame in \[0, 1800\)"):
        routes.route(1800)
