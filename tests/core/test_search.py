"""The backward search: Bellman's equations, masks, threads, SciPy as a witness."""

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from corpora import random_case
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

import metro
from metro.core.entry import find_entries
from metro.core.search import find_routes_many
from metro.core.shortest_paths import AT_GOAL, NO_ROUTE
from metro.errors import GraphError, LatentsError

CASES = st.builds(random_case, st.integers(0, 10**6), lattice=st.booleans())


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


@settings(max_examples=50, deadline=None)
@given(CASES)
def test_costs_are_bellmans_and_fall_along_every_route(case):
    """J(u) <= w(u, v) + J(v); at succ(u) they are equal, and J falls by at least 1."""
    routes, episode = case.routes, case.latents.episode_of
    u, v, cost = all_edges(case.graph)
    kept = (episode(u) != case.held_out) & (episode(v) != case.held_out)
    totals = cost + routes.cost_to_go[v]
    assert (routes.cost_to_go[u] <= totals)[kept].all()
    followed = kept & (routes.successor[u] == v)
    assert (routes.cost_to_go[u] == totals)[followed].all()
    for frame in range(case.latents.num_frames):
        path = routes.route(frame)
        # Each J is a rounded sum, so a step of 1 frame may seem 1e-15 shorter.
        assert (np.diff(routes.cost_to_go[path]) <= -1 + 1e-9).all()
        assert case.held_out not in episode(path).tolist()
        assert bool(path) == np.isfinite(routes.cost_to_go[frame])


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.randoms(use_true_random=False))
def test_costs_do_not_depend_on_the_order_of_episodes(seed, random):
    """Frames keep their J, bit for bit, wherever their episode stands in the corpus."""
    case = random_case(seed, lattice=False)  # without ties, which frame numbers break
    order = list(range(case.latents.num_episodes))
    random.shuffle(order)
    latents = case.latents.subset(order)
    graph = metro.FrameGraph.from_latents(
        latents, case.waypoint_budget, num_neighbours=case.num_neighbours
    )
    held_out = None if case.held_out is None else order.index(case.held_out)
    found = metro.find_routes(graph, case.goal, held_out=held_out)
    rows = [np.arange(latents.num_frames)[case.latents.rows_of(m)] for m in order]
    expected = case.routes.cost_to_go[np.concatenate(rows)]
    np.testing.assert_array_equal(found.cost_to_go, expected)


def test_scipy_finds_the_same_costs(rooms_graph):
    """A heap over the augmented graph, built without m*, gives the same J."""
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


def test_any_goal_is_the_cheapest_goal(rooms_graph):
    """One search for several goals costs every frame what its cheapest goal costs."""
    z = rooms_graph.latents.z
    goals = [z[300], z[1234], z[1700]]
    routes = metro.find_routes(rooms_graph, goals, held_out=4)
    alone = [metro.find_routes(rooms_graph, goal, held_out=4) for goal in goals]
    costs = np.stack([one.cost_to_go for one in alone])
    np.testing.assert_array_equal(routes.cost_to_go, costs.min(axis=0))
    for frame in range(0, rooms_graph.num_frames, 11):
        path = routes.route(frame)
        if path:
            goal = routes.goal_after(path[-1])
            number = next(n for n in range(3) if (goals[n] == goal).all())
            assert costs[number, frame] == costs[:, frame].min()


def test_any_of_one_goal_is_that_goal(rooms_graph):
    """The same routes as for a single goal."""
    goal = rooms_graph.latents.z[300]
    one = metro.find_routes(rooms_graph, goal)
    same = metro.find_routes(rooms_graph, [goal])
    np.testing.assert_array_equal(one.cost_to_go, same.cost_to_go)
    np.testing.assert_array_equal(one.successor, same.successor)
    assert same.goals == (same.goal,)


def test_the_old_name_for_several_goals_warns(rooms_graph):
    """find_routes_to_any gives what find_routes gives, and says so."""
    goals = rooms_graph.latents.z[[300, 1234]]
    with pytest.warns(DeprecationWarning, match="^find_routes_to_any is deprecated"):
        old = metro.find_routes_to_any(rooms_graph, goals)
    new = metro.find_routes(rooms_graph, goals)
    np.testing.assert_array_equal(old.cost_to_go, new.cost_to_go)
    np.testing.assert_array_equal(old.successor, new.successor)


def test_no_goal_is_no_search(rooms_graph):
    """At least one is needed."""
    with pytest.raises(GraphError, match="^goals must be at least 1, got 0.$"):
        metro.find_routes(rooms_graph, [])


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


@pytest.mark.parametrize("workers", [None, 1, 3])
def test_many_goals_give_what_one_gives(rooms_graph, workers):
    """In the order of the goals, each without its own episode, with progress."""
    goals, calls = rooms_graph.latents.z[::150], []
    held_out = [None, *range(1, len(goals))]
    found = find_routes_many(
        rooms_graph,
        goals,
        held_out=held_out,
        workers=workers,
        progress=lambda *done: calls.append(done),
    )
    assert calls == [(i + 1, len(goals)) for i in range(len(goals))]
    for routes, goal, mask in zip(found, goals, held_out, strict=True):
        alone = metro.find_routes(rooms_graph, goal, held_out=mask)
        assert routes.held_out == mask
        np.testing.assert_array_equal(routes.goal, goal)
        np.testing.assert_array_equal(routes.cost_to_go, alone.cost_to_go)
        np.testing.assert_array_equal(routes.successor, alone.successor)


def test_no_goals_no_routes(rooms_graph):
    """An empty batch is answered, and no mask is one for every goal."""
    assert find_routes_many(rooms_graph, []) == []
    (routes,) = find_routes_many(rooms_graph, rooms_graph.latents.z[:1])
    assert routes.held_out is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"held_out": [1]},
            "held_out must name an episode or None for each goal: got 1 for 2 goals.",
        ),
        ({"held_out": [1, 30]}, "held_out must be an episode in [0, 30), got 30."),
        ({"workers": 0}, "workers must be a whole number of at least 1, got 0."),
        ({"workers": 1.5}, "workers must be a whole number of at least 1, got 1.5."),
    ],
)
def test_batches_must_make_sense(rooms_graph, options, message):
    """The message says what was given."""
    with pytest.raises(GraphError, match=f"^{re.escape(message)}$"):
        find_routes_many(rooms_graph, rooms_graph.latents.z[:2], **options)


def test_early_stop_is_exact_where_it_is_settled(rooms_graph):
    """What is settled is final; the others have no cost until the search goes on."""
    z = rooms_graph.latents.z
    full = metro.find_routes(rooms_graph, z[900], held_out=2)
    near = int(np.argsort(full.cost_to_go)[100])
    early = metro.find_routes(rooms_graph, z[900], held_out=2, start=z[near])
    settled = np.isfinite(early.cost_to_go)
    assert settled[near]
    assert settled.sum() < np.isfinite(full.cost_to_go).sum()
    np.testing.assert_array_equal(early.cost_to_go[settled], full.cost_to_go[settled])
    np.testing.assert_array_equal(early.successor[settled], full.successor[settled])
    assert (early.successor[~settled] == NO_ROUTE).all()
    assert early.route(near) == full.route(near)
    assert not early.is_complete
    rest = early.complete()
    np.testing.assert_array_equal(rest.cost_to_go, full.cost_to_go)
    np.testing.assert_array_equal(rest.successor, full.successor)
    assert not settled.all()
    assert (early.cost_to_go[~settled] == np.inf).all()  # completing changes nothing


@pytest.mark.parametrize("goal", [40, 900, 1500])
def test_an_early_stop_is_certain_of_the_entry(rooms_graph, goal):
    """The cheapest entry is settled, wherever the search goes on from."""
    z = rooms_graph.latents.z
    full = metro.find_routes(rooms_graph, z[goal], held_out=2)
    early, stops = metro.find_routes(rooms_graph, z[goal], held_out=2, start=z[goal]), 0
    for frame in np.argsort(full.cost_to_go)[::150]:
        (around,) = find_entries(rooms_graph, [z[frame] + 0.01], held_out=2)
        early = early.until_certain(around)
        totals = around.prices + full.cost_to_go[around.frames]
        best = around.frames[totals == totals.min()]
        np.testing.assert_array_equal(early.cost_to_go[best], full.cost_to_go[best])
        assert early.until_certain(around) is early
        stops += not early.is_complete
    assert stops > 5


def test_an_early_stop_does_not_wait_for_dear_entries(rooms_graph):
    """Entries that cannot be the cheapest need not be settled."""
    z, waited = rooms_graph.latents.z, 0
    for start in range(0, 1800, 60):
        early = metro.find_routes(rooms_graph, z[900], held_out=2, start=z[start])
        (around,) = find_entries(rooms_graph, [z[start]], held_out=2)
        waited += np.isfinite(early.cost_to_go[around.frames]).all()
    assert waited < 15


def test_complete_routes_stay_as_they_are(rooms_graph):
    """A search to the end has nothing left, nor one for a frame without a route."""
    goal = rooms_graph.latents.z[900]
    routes = metro.find_routes(rooms_graph, goal)
    assert routes.is_complete
    assert routes.complete() is routes
    far = metro.find_routes(rooms_graph, np.full(24, 1e4), start=goal)
    assert far.is_complete


def test_start_must_be_an_observation(rooms_graph):
    """The message says what was given."""
    message = "start must have shape (24,), got (3,)."
    with pytest.raises(LatentsError, match=f"^{re.escape(message)}"):
        metro.find_routes(rooms_graph, rooms_graph.latents.z[0], start=[0, 0, 0])


def test_reachable_skips_the_held_out_episode(rooms_graph):
    """Nothing leads into or through m*."""
    rows = rooms_graph.latents.rows_of(3)
    reached = rooms_graph.reachable_from(np.array([0]), held_out=3)
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
        (np.zeros((1, 23)), "goal must have shape (24,), got (23,)."),
        (np.zeros((1, 1, 24)), "goal must have shape (24,), got (1, 24)."),
        (3.0, "goal must have shape (24,), got (1,)."),
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
