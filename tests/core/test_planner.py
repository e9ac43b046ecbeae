"""The planner: one test a sentence of Algorithm 1 that random corpora may miss."""

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from corpora import random_case
from hypothesis import given, settings
from hypothesis import strategies as st

import metro
from metro.core.landmarks import choose_landmarks
from metro.errors import GraphError, LatentsError

Kind = metro.SubGoalKind


def line_planner(goal, *, length=40, budget=5, **options):
    """Return a planner over two parallel lines, x = 0, 1, 2, ..."""
    line = np.arange(length, dtype=np.float32)
    episodes = [np.stack([line, np.full(length, y)], axis=1) for y in (0.0, 0.1)]
    latents = metro.Latents.from_episodes(episodes)
    pricing = metro.PricingCurve.fit(latents, budget)
    graph = metro.build_graph(latents, metro.find_neighbours(latents), pricing)
    return metro.MetroPlanner(metro.find_routes(graph, goal), **options)


def test_walk_spends_the_budget():
    """From x = 0 with H = 5: to enter at x = 1 costs 1, four steps remain."""
    sub = line_planner([30.0, 0.0])([0.0, 0.0])
    assert (sub.kind, sub.frame, sub.entry) == (Kind.ROUTE, 5, 1)
    assert (sub.spent, sub.hops, sub.path) == (5.0, 4, (1, 2, 3, 4, 5))
    assert sub.cost_to_go == 30.0  # every way costs a frame for a step of x


def test_goal_within_the_budget_is_the_sub_goal():
    """J(z_obs) <= H: head for the goal itself."""
    sub = line_planner([3.0, 0.0])([0.0, 0.0])
    assert (sub.kind, sub.frame) == (Kind.GOAL_IN_REACH, None)
    assert sub.latent.tolist() == [3.0, 0.0]
    assert sub.spent == sub.cost_to_go <= 5
    assert sub.path[0] == sub.entry


def test_first_hop_is_taken_whatever_it_costs():
    """Far off the graph the entry costs H; the walk still advances by one."""
    sub = line_planner([39.0, 0.0])([0.0, -50.0])
    assert (sub.kind, sub.entry, sub.frame, sub.hops) == (Kind.ROUTE, 0, 1, 1)
    assert sub.spent == 6.0  # beyond the budget of 5, by the rule l >= 1


def test_walk_that_arrives_returns_the_goal():
    """An entry of 5 and a last hop of 1: J = 6 > H, and the walk ends at the goal."""
    sub = line_planner([20.0, 0.0])([20.0, -50.0])
    assert (sub.kind, sub.frame, sub.hops) == (Kind.ROUTE, None, 1)
    assert sub.latent.tolist() == [20.0, 0.0]
    assert (sub.cost_to_go, sub.spent, sub.path) == (6.0, 6.0, (20,))


def test_no_route_takes_the_nearest_candidate_that_is_nearer():
    """Nothing reaches the goal; of the k candidates the nearest to it, if it helps."""
    planner = line_planner([60.0, 0.0])
    sub = planner([10.2, 0.0])
    assert (sub.kind, sub.frame) == (Kind.NEAREST_TO_GOAL, 11)
    assert (sub.cost_to_go, sub.hops, sub.path) == (np.inf, 0, (11,))
    sub = planner([45.0, 0.0])  # past the end: every frame is further from the goal
    assert (sub.kind, sub.frame, sub.entry) == (Kind.GOAL_NO_ROUTE, None, None)
    assert sub.latent.tolist() == [60.0, 0.0]


def test_no_route_reachable_walks_on():
    """no_route="reachable" rides towards the end of the line, which is nearest."""
    planner = line_planner([60.0, 0.0], no_route="reachable")
    sub = planner([10.0, 0.0])
    assert (sub.kind, sub.frame, sub.path) == (
        Kind.NEAREST_TO_GOAL,
        15,
        (11, 12, 13, 14, 15),
    )
    assert planner([37.0, 0.0]).frame == 39
    assert planner([45.0, 0.0]).kind is Kind.GOAL_NO_ROUTE


def test_everything_held_out_leaves_the_goal():
    """With the only episode held out there is no candidate at all."""
    latents = metro.Latents(np.arange(5.0)[:, None], [0, 5])
    pricing = metro.PricingCurve.fit(latents, 2)
    graph = metro.build_graph(latents, metro.find_neighbours(latents), pricing)
    routes = metro.find_routes(graph, [3.0], held_out=0)
    for no_route in ("nearest", "reachable"):
        sub = metro.MetroPlanner(routes, no_route=no_route)([1.0])
        assert (sub.kind, sub.path) == (Kind.GOAL_NO_ROUTE, ())


@pytest.mark.parametrize("seed", range(150))
def test_every_latent_is_a_row_or_the_goal(seed):
    """Bit for bit: sub-goals are retrieved, never made up."""
    case = random_case(seed, lattice=False)
    goal = case.goal.astype(np.float64) + (0.1 if seed % 2 else 0.0)
    routes = metro.find_routes(case.graph, goal, held_out=case.held_out)
    for no_route in ("nearest", "reachable"):
        sub = metro.MetroPlanner(routes, no_route=no_route)(case.observed)
        if sub.frame is None:
            assert sub.latent.tobytes() == goal.tobytes()
        else:
            assert sub.latent.tobytes() == case.latents.z[sub.frame].tobytes()
            assert sub.path[-1] == sub.frame
        assert sub.hops <= max(1, case.waypoint_budget)


def test_a_greedy_walk_arrives(rooms_graph):
    """Hopping from sub-goal to sub-goal, J falls every time and the goal is reached."""
    goal = rooms_graph.latents.z[700]
    planner = metro.MetroPlanner(metro.find_routes(rooms_graph, goal))
    observed, costs = rooms_graph.latents.z[1500], []
    while (sub := planner(observed)).kind is Kind.ROUTE and sub.frame is not None:
        observed = sub.latent
        costs.append(sub.cost_to_go)
    assert (np.diff(costs) < 0).all()
    assert sub.kind is Kind.GOAL_IN_REACH


def answer(sub):
    """Return all of a sub-goal as values that can be compared."""
    walked = (sub.entry, sub.spent, sub.hops, sub.path)
    return (sub.kind, sub.frame, sub.latent.tobytes(), sub.cost_to_go, *walked)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans(), st.booleans(), st.data())
def test_answers_do_not_depend_on_the_order_of_calls(seed, lattice, narrow, data):
    """Equal observations get equal sub-goals, whatever a planner was asked before."""
    case = random_case(seed, lattice=lattice)
    z = case.latents.z
    routes = metro.find_routes(
        case.graph,
        case.goal,
        held_out=case.held_out,
        start=z[0],
        landmarks=choose_landmarks(case.graph, 2) if narrow else None,
    )
    frames = data.draw(st.lists(st.integers(0, len(z) - 1), min_size=2, max_size=6))
    planner = metro.MetroPlanner(routes)
    for frame in data.draw(st.permutations(frames)):
        observed = z[frame] + np.float32(0.25)
        fresh = metro.MetroPlanner(routes)(observed)
        whole = metro.MetroPlanner(case.routes)(observed)
        assert answer(planner(observed)) == answer(fresh) == answer(whole)
        assert answer(planner(observed)) == answer(fresh)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_sub_goals_are_never_of_the_held_out_episode(seed, lattice):
    """Neither the sub-goal nor any frame on the way to it."""
    case = random_case(seed, lattice=lattice)
    for no_route in ("nearest", "reachable"):
        sub = metro.MetroPlanner(case.routes, no_route=no_route)(case.observed)
        episodes = case.latents.episode_of(list(sub.path)).tolist()
        assert case.held_out not in episodes


def test_threads_share_a_planner(rooms_graph):
    """Any number of observations at once get the answers of one after the other."""
    goal = rooms_graph.latents.z[700]
    planner = metro.MetroPlanner(metro.find_routes(rooms_graph, goal))
    observed = rooms_graph.latents.z[::40]
    with ThreadPoolExecutor(4) as pool:
        together = [sub.path for sub in pool.map(planner, observed)]
    assert together == [planner(one).path for one in observed]


def test_many_observations_together(rooms_graph):
    """A batch gives what one after the other gives, and nothing gives nothing."""
    routes = metro.find_routes(rooms_graph, rooms_graph.latents.z[700], held_out=4)
    planner = metro.MetroPlanner(routes)
    observed = rooms_graph.latents.z[::50] + np.float32(0.1)
    together = planner.many(observed)
    for one, sub in zip(observed, together, strict=True):
        alone = planner(one)
        assert (sub.kind, sub.path, sub.spent) == (alone.kind, alone.path, alone.spent)
    assert planner.many([]) == []


def test_bad_observations_and_options(rooms_graph):
    """Wrong dimension, NaN and unknown options are refused in one line."""
    routes = metro.find_routes(rooms_graph, rooms_graph.latents.z[0])
    planner = metro.MetroPlanner(routes)
    message = re.escape("observed must have shape (24,), got (192,).")
    with pytest.raises(LatentsError, match=f"^{message}$"):
        planner(np.zeros(192))
    with pytest.raises(LatentsError, match="^observed has 1 NaN or infinite values"):
        planner(np.append(np.zeros(23), np.nan))
    with pytest.raises(GraphError, match='^no_route must be "nearest" or "reachable"'):
        metro.MetroPlanner(routes, no_route="stay")


@pytest.mark.parametrize("goal", [40, 700, 1500])
def test_a_search_that_stopped_early_plans_the_same(rooms_graph, goal):
    """Wherever we are; it goes on by itself where it had not been yet."""
    z = rooms_graph.latents.z
    whole = metro.find_routes(rooms_graph, z[goal], held_out=3)
    early = metro.find_routes(rooms_graph, z[goal], held_out=3, start=z[900])
    one, other = metro.MetroPlanner(whole), metro.MetroPlanner(early)
    for frame in (900, goal, 0, 333, 1799, 1200):
        first, second = one(z[frame]), other(z[frame])
        assert (first.kind, first.frame, first.path) == (
            second.kind,
            second.frame,
            second.path,
        )
        assert first.cost_to_go == second.cost_to_go


def test_standing_on_a_frame_costs_nothing_to_enter(rooms_graph):
    """Onward from a frame is the sub-goal of an observation that is that frame."""
    routes = metro.find_routes(rooms_graph, rooms_graph.latents.z[1500])
    planner = metro.MetroPlanner(routes)
    for frame in range(0, 1800, 97):
        onward = planner.onward(frame)
        if np.isinf(routes.cost_to_go[frame]):
            assert onward is None
        else:
            assert onward.cost_to_go == routes.cost_to_go[frame]
            assert onward.entry == frame
