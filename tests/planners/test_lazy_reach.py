"""Reach measured only where routes lead, against the graph that is measured whole."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metro import MetroPlanner, PricingCurve, build_graph, find_neighbours, find_routes
from metro.core.entry import entry_at
from metro.core.latents import Latents
from metro.core.reach import ReachPricing
from metro.data.reach_table import measure_table
from metro.planners.lazy_reach import LazyReach


class Whim:
    """A reach that is like no other: any number, and equal ones, for any jump."""

    def __init__(self, seed, levels):
        rng = np.random.default_rng(seed)
        self.weights, self.levels, self.origins = rng.normal(size=6), levels, 0

    def __call__(self, origins, targets):
        self.origins += len(origins)
        both = np.concatenate(
            [np.repeat(origins[:, None], targets.shape[1], 1), targets], axis=2
        )
        wave = np.abs(np.sin(40 * (both.astype(np.float64) * self.weights).sum(axis=2)))
        return np.floor(self.levels * wave)


def make(seed, *, width=8, links=4, levels=6, rounded=False):
    """Return the graph measured whole, and the same measured lazily."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(4, 25, 14)
    z = rng.normal(size=(lengths.sum(), 3)).cumsum(axis=0) * 0.2
    z = np.round(z, 1) if rounded else z
    latents = Latents(z.astype(np.float32), np.append(0, lengths.cumsum()))
    table = find_neighbours(latents, width)
    curve = PricingCurve.fit(latents, 3)
    measure, constants = Whim(seed, levels), ReachPricing(1.0, 1.0, 2.0)
    distances = measure_table(latents, table.frame, measure)
    whole = build_graph(
        latents, replace(table, reach=distances), curve, constants, num_links=links
    )
    by_gap = build_graph(latents, table, curve)
    return (
        replace(whole, measure=measure),
        LazyReach(by_gap, constants, measure, num_links=links),
    )


def assert_same(one, other):
    """Two sub-goals are the same, to the last bit."""
    assert one.latent.tobytes() == other.latent.tobytes()
    assert vars(one) | {"latent": 0} == vars(other) | {"latent": 0}


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    links=st.integers(1, 5),
    levels=st.sampled_from([1, 3, 60]),
    rounded=st.booleans(),
)
def test_every_answer_is_that_of_the_graph_measured_whole(seed, links, levels, rounded):
    """Sub-goal, cost and route: episodes held out, goals together, entering again."""
    whole, lazy = make(seed, links=links, levels=levels, rounded=rounded)
    rng = np.random.default_rng(seed + 1)
    z = whole.latents.z
    for number in range(3):
        goals = [z[i] for i in rng.integers(0, len(z), 1 + number % 2)]
        held_out = (None, int(rng.integers(14)))[number % 2]
        observed = z[rng.integers(0, len(z), 5)] + 0.1 * rng.normal(size=(5, 3))
        observed = observed.astype(np.float32)
        ask = {"held_out": held_out, "start": observed[0]}
        expected = MetroPlanner(find_routes(whole, goals, **ask))
        found = MetroPlanner(lazy.find_routes(goals, **ask))
        for row in observed:
            one, other = expected(row), found(row)
            assert_same(one, other)
            if one.entry is not None and np.isfinite(one.cost_to_go):
                route = expected.routes.route(one.entry)
                assert found.routes.route(one.entry) == route
                J, K = expected.routes.cost_to_go, found.routes.cost_to_go
                assert np.array_equal(J[route], K[route])


@pytest.mark.parametrize("seed", range(4))
def test_complete_routes_are_those_of_the_graph_measured_whole(seed):
    """Completed, the routes of all frames are the same bits."""
    whole, lazy = make(seed)
    goal = whole.latents.z[7]
    expected = find_routes(whole, goal, held_out=2)
    found = lazy.find_routes(goal, held_out=2).complete()
    assert found.cost_to_go.tobytes() == expected.cost_to_go.tobytes()
    assert found.successor.tobytes() == expected.successor.tobytes()


@pytest.mark.parametrize("seed", range(4))
def test_without_a_route_the_reachable_frames_are_the_same(seed):
    """no_route="reachable" measures what it has to."""
    whole, lazy = make(seed, width=1)
    for row in whole.latents.z[::17]:
        far = np.full(3, 50, dtype=np.float32)
        expected = MetroPlanner(find_routes(whole, far), "reachable")(row)
        assert_same(MetroPlanner(lazy.find_routes(far), "reachable")(row), expected)


def test_only_what_routes_use_is_measured_and_only_once():
    """The same question again measures no jump; most are never measured."""
    whole, lazy = make(3)
    start, goal = whole.latents.z[5], whole.latents.z[60]
    lazy.find_routes(goal, held_out=0, start=start)
    measured = lazy.is_measured.copy()
    assert 0 < measured.sum() < whole.num_frames / 2
    lazy.find_routes(goal, held_out=0, start=start)
    assert np.array_equal(lazy.is_measured, measured)


def test_a_recorded_frame_may_be_asked_for():
    """As the route command does."""
    whole, lazy = make(5)
    goal, frame = whole.latents.z[40], 100
    expected = find_routes(whole, goal).route(frame)
    found = lazy.find_routes(goal).until_certain(entry_at(frame))
    assert found.route(frame) == expected


def test_threads_may_share_what_is_measured():
    """Asked by several threads at once, every answer is the same."""
    whole, lazy = make(11)
    z = whole.latents.z

    def ask(number):
        goal, start = z[(7 * number) % len(z)], z[(31 * number) % len(z)]
        return MetroPlanner(lazy.find_routes(goal, start=start))(start)

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(ask, range(24)))
    for number, one in enumerate(found):
        goal, start = z[(7 * number) % len(z)], z[(31 * number) % len(z)]
        assert_same(one, MetroPlanner(find_routes(whole, goal, start=start))(start))
