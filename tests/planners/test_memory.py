"""What was tried in vain costs more, and nothing else changes."""

from dataclasses import replace

import numpy as np
import pytest
from corpora import random_case
from hypothesis import given, settings
from hypothesis import strategies as st

from metro import (
    Latents,
    MetroPlanner,
    PricingCurve,
    build_graph,
    choose_landmarks,
    find_neighbours,
    find_routes,
)
from metro.core.reach import ReachPricing
from metro.data.reach_table import measure_table
from metro.planners.memory import RememberingPlanner

FRAMES = 5
H = 6


class Sideways:
    """A toy reach: only the first coordinate can be changed."""

    def __call__(self, origins, targets):
        across = np.abs(targets[..., 1:] - origins[:, None, 1:]).sum(axis=-1)
        return across.astype(np.float64) * 4


@pytest.fixture(scope="module", params=["gap", "reach"])
def graph(request):
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(12, 30, 3)).cumsum(axis=1) * 0.3
    latents = Latents(steps.reshape(-1, 3).astype(np.float32), np.arange(0, 361, 30))
    pricing = PricingCurve.fit(latents, H)
    if request.param == "gap":
        return build_graph(latents, find_neighbours(latents), pricing)
    table = find_neighbours(latents, 16)
    measured = measure_table(latents, table.frame, Sideways())
    reach = ReachPricing(noise=1.0, floor=1.0, rate=5.0)
    table = replace(table, reach=measured)
    built = build_graph(latents, table, pricing, reach, num_links=4)
    return replace(built, measure=Sideways())


def answer(sub):
    """All of a sub-goal as values that can be compared."""
    walked = (sub.entry, sub.spent, sub.hops, sub.path)
    return (sub.kind, sub.frame, sub.latent.tobytes(), sub.cost_to_go, *walked)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_without_a_failed_try_the_answers_are_those_without_memory(seed, lattice):
    """Bit for bit: a robot that arrives at every sub-goal never notices the memory."""
    case = random_case(seed, lattice=lattice)
    plain = MetroPlanner(case.routes)
    remembering = RememberingPlanner(MetroPlanner(case.routes), FRAMES)
    observed = case.observed
    for _ in range(8):
        sub_goal = remembering(observed)
        assert answer(sub_goal) == answer(plain(observed))
        observed = sub_goal.latent
    assert not remembering.failed
    assert remembering.routes.cost_to_go is case.routes.cost_to_go


@pytest.mark.parametrize("goal", [5, 100, 333])
def test_with_reach_too_arriving_is_no_failure(graph, goal):
    """The same law with both prices, walking from sub-goal to sub-goal."""
    routes = find_routes(graph, graph.latents.z[goal])
    plain = MetroPlanner(routes)
    remembering = RememberingPlanner(MetroPlanner(routes), FRAMES)
    observed = graph.latents.z[(goal + 170) % 360]
    for _ in range(8):
        sub_goal = remembering(observed)
        assert answer(sub_goal) == answer(plain(observed))
        observed = sub_goal.latent


def near(graph, frame, other):
    """Whether two frames are of one episode and less than H apart."""
    episodes = graph.latents.episode_of([frame, other])
    return episodes[0] == episodes[1] and abs(frame - other) < H


def slow_costs(graph, routes, failed):
    """J by relaxing every edge of the altered graph until nothing changes."""
    links = zip(routes.links.frames.tolist(), routes.links.costs.tolist(), strict=True)
    edges = [(u, v, cost) for u, v, cost in zip(*graph.bridges(), strict=True)]
    if not graph.is_directed:
        edges += [(v, u, cost) for u, v, cost in edges]
    cost_to_go = np.full(graph.num_frames, np.inf)
    for frame, cost in links:
        tries = [
            n for (u, v), n in failed.items() if v is None and near(graph, u, frame)
        ]
        cost_to_go[frame] = cost + FRAMES * sum(tries)
    dearer = [
        (jump, n) for jump, n in failed.items() if None not in (jump.start, jump.stop)
    ]
    starts, ends, costs = [], [], []
    for u, v, cost in edges:
        tries = [
            n
            for jump, n in dearer
            if near(graph, jump.start, u) and near(graph, jump.stop, v)
        ]
        starts.append(u), ends.append(v), costs.append(cost + FRAMES * sum(tries))
    for u in range(graph.num_frames - 1):
        if graph.latents.episode_of(u) == graph.latents.episode_of(u + 1):
            starts.append(u), ends.append(u + 1), costs.append(1.0)
    for _ in range(graph.num_frames):
        before = cost_to_go.copy()
        np.minimum.at(cost_to_go, starts, cost_to_go[ends] + costs)
        if np.array_equal(before, cost_to_go):
            break
    return cost_to_go


@pytest.mark.parametrize("goal", [5, 100, 333])
def test_the_charged_search_is_exact(graph, goal):
    """J after failed tries equals a slow search of the altered graph, landmarks or not.

    The walk within H counts frames as before, and the graph itself is not changed.
    """
    start, target = graph.latents.z[(goal + 170) % 360], graph.latents.z[goal]
    bridge_cost = graph.bridge_cost.copy()
    whole = find_routes(graph, target)
    for landmarks in (None, choose_landmarks(graph, 3)):
        early = find_routes(graph, target, start=start, landmarks=landmarks)
        remembering = RememberingPlanner(MetroPlanner(early), FRAMES)
        twin = RememberingPlanner(MetroPlanner(whole), FRAMES)
        stuck = start + np.float32(0.1)
        for _ in range(12):
            assert answer(remembering(stuck)) == answer(twin(stuck))
        assert any(None not in jump for jump in remembering.failed)
        expected = slow_costs(graph, whole, remembering.failed)
        found = remembering.routes.complete().cost_to_go
        assert np.allclose(found, expected)
        assert not np.allclose(found, whole.cost_to_go)
    assert np.array_equal(graph.bridge_cost, bridge_cost)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.integers(0, 359), min_size=2, max_size=8))
def test_equal_histories_give_equal_answers(graph, visited):
    """What was observed in this episode decides, nothing else."""
    routes = find_routes(graph, graph.latents.z[333])
    one, other = (RememberingPlanner(MetroPlanner(routes), FRAMES) for _ in range(2))
    seen = graph.latents.z[visited] + np.float32(0.05)
    first = [answer(one(observed)) for observed in seen]
    assert first == [answer(other(observed)) for observed in seen]


def fork():
    """A stem, a short way that starts beside its end, and a longer way round."""
    stem = [(x, 0.0) for x in np.arange(0.0, 10.0)]
    short = [(x, 0.5) for x in np.arange(10.0, 21.0)]
    around = [(9.0, -y) for y in np.arange(0.5, 5.0)]
    around += [(x, -5.0) for x in np.arange(9.5, 20.0)]
    around += [(20.0, y) for y in np.arange(-4.5, 1.0)]
    return Latents.from_episodes([np.float32(way) for way in (stem, short, around)])


def test_a_sub_goal_that_is_never_approached_is_left():
    """Stuck before the short way, it is tried until the way round costs no more."""
    latents = fork()
    pricing = PricingCurve.fit(latents, 4)
    graph = build_graph(latents, find_neighbours(latents, 4), pricing)
    goal, stuck = np.float32([20.0, 0.5]), np.float32([8.0, 0.0])
    plain = MetroPlanner(find_routes(graph, goal))
    remembering = RememberingPlanner(MetroPlanner(plain.routes), FRAMES)
    ways = []
    for _ in range(8):
        sub_goal = remembering(stuck)
        path = remembering.routes.complete().route(sub_goal.entry)
        ways.append(set(latents.episode_of(path).tolist()))
    assert 1 in ways[0]
    assert 2 not in ways[0]
    assert {2} <= ways[-1] | ways[-2]
    first = next(number for number, way in enumerate(ways) if 2 in way)
    whole = plain.routes.cost_to_go
    assert first <= np.ceil((whole[latents.rows_of(2).start] - whole[8]) / FRAMES) + 1


def test_arrived_is_approached():
    """Who stands where one step leads is not stuck, though nothing gets nearer."""
    line = np.arange(40, dtype=np.float32)
    episodes = [np.stack([line, np.full(40, y)], axis=1) for y in (0.0, 0.1)]
    latents = Latents.from_episodes(episodes)
    graph = build_graph(latents, find_neighbours(latents), PricingCurve.fit(latents, 5))
    remembering = RememberingPlanner(
        MetroPlanner(find_routes(graph, [3.5, 0.0])), FRAMES
    )
    for _ in range(3):
        assert remembering([3.0, 0.0]).frame is None
    assert not remembering.failed
    remembering([1.5, 0.0])
    remembering([1.5, 0.0])
    assert remembering.failed
