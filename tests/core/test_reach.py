"""Reach distances and graphs priced by them, against slow twins."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metro import (
    MetroPlanner,
    PricingCurve,
    build_graph,
    choose_landmarks,
    find_neighbours,
    find_routes,
)
from metro.core.latents import Latents
from metro.core.planner import SubGoalKind
from metro.core.reach import (
    MOST_CHARGED,
    ReachPricing,
    measure_table,
    reach_distances,
)
from metro.errors import GraphError, PricingError

H = 6


def dense_distances(predicted, targets, noise):
    """The definition: the whole covariance, and one solve per target."""
    found = np.empty(targets.shape[:2])
    for b, cloud in enumerate(predicted.astype(np.float64)):
        mean = cloud.mean(axis=0)
        covariance = np.cov(cloud, rowvar=False, bias=True) + noise * np.eye(len(mean))
        for k, target in enumerate(targets[b].astype(np.float64)):
            away = target - mean
            found[b, k] = np.sqrt(away @ np.linalg.solve(covariance, away))
    return found


@given(st.integers(0, 10**6), st.floats(1e-3, 10.0))
def test_distances_are_those_of_the_dense_covariance(seed, noise):
    """Woodbury's identity changes nothing."""
    rng = np.random.default_rng(seed)
    predicted = rng.normal(size=(3, 8, 5)).astype(np.float32)
    targets = rng.normal(size=(3, 4, 5)).astype(np.float32)
    found = reach_distances(predicted, targets, noise)
    assert np.allclose(found, dense_distances(predicted, targets, noise), rtol=1e-6)


def test_what_actions_change_is_near_and_what_they_cannot_is_far():
    """Along a predicted direction m is about 1; across it the gap over the noise."""
    steps = np.array([-1.0, 1.0, -1.0, 1.0], dtype=np.float32)
    predicted = np.zeros((1, 4, 2), dtype=np.float32)
    predicted[0, :, 0] = steps
    targets = np.array([[[1.0, 0.0], [0.0, 1.0]]], dtype=np.float32)
    along, across = reach_distances(predicted, targets, 0.01)[0]
    assert along == pytest.approx(1 / np.sqrt(1.01))
    assert across == pytest.approx(1 / np.sqrt(0.01))


def test_a_jump_takes_a_block_at_least_and_is_never_charged_more_than_the_most():
    """rate · (1 + max(0, m − floor)) − 1, bounded."""
    pricing = ReachPricing(noise=1.0, floor=3.0, rate=5.0)
    charged = pricing.charge(np.array([0.0, 3.0, 4.0, np.inf]))
    assert charged.tolist() == [4.0, 4.0, 9.0, MOST_CHARGED]


@pytest.mark.parametrize("values", [(0, 1, 1), (1, -1, 1), (1, 1, 0.5), (1, 1, np.nan)])
def test_constants_must_make_sense(values):
    """No noise, a negative floor, less than a frame per block or NaN is refused."""
    with pytest.raises(PricingError, match="noise must be positive"):
        ReachPricing(*values)


class Sideways:
    """A toy reach: only the first coordinate can be changed."""

    def __call__(self, origins, targets):
        across = np.abs(targets[..., 1:] - origins[:, None, 1:]).sum(axis=-1)
        return across.astype(np.float64) * 4


def walks(seed=0, episodes=12, length=30, dim=3):
    rng = np.random.default_rng(seed)
    steps = rng.normal(size=(episodes, length, dim)).cumsum(axis=1) * 0.3
    z = steps.reshape(-1, dim).astype(np.float32)
    return Latents(z, np.arange(0, len(z) + 1, length))


@pytest.fixture(scope="module")
def parts():
    latents = walks()
    table = find_neighbours(latents, 16)
    reach = measure_table(latents, table.frame, Sideways())
    return latents, replace(table, reach=reach), PricingCurve.fit(latents, H)


PRICING = ReachPricing(noise=1.0, floor=1.0, rate=5.0)


def reach_graph(parts, links=4):
    graph = build_graph(*parts, PRICING, num_links=links)
    return replace(graph, measure=Sideways())


def slow_bridges(latents, table, pricing, links):
    """Every frame's cheapest candidates, one of each episode, by a plain loop."""
    found = {}
    for u in range(latents.num_frames):
        offers = []
        for v, gap, m in zip(table.frame[u], table.gap[u], table.reach[u], strict=True):
            if v >= 0 and gap <= pricing.radius:
                price = float(pricing.price(gap))
                charge = 5.0 * (1.0 + max(0.0, float(m) - 1.0)) - 1.0
                offers.append((price + charge, int(v), price))
        seen = set()
        for cost, v, price in sorted(offers):
            episode = int(latents.episode_of(v))
            if episode not in seen and len(seen) < links:
                seen.add(episode)
                found[u, v] = (min(cost, price + MOST_CHARGED), price)
    return found


def test_every_frame_keeps_its_cheapest_bridges(parts):
    """At most one of each other episode, charged and priced as defined."""
    graph = reach_graph(parts)
    expected = slow_bridges(*parts, links=4)
    u, v, cost = graph.bridges()
    found = dict(zip(zip(u.tolist(), v.tolist(), strict=True), cost, strict=True))
    assert found.keys() == expected.keys()
    for (a, b), (charged, price) in expected.items():
        assert graph.edge_cost(a, b) == pytest.approx(charged)
        assert graph.edge_price(a, b) == pytest.approx(price)
        assert found[a, b] == graph.edge_cost(a, b)


def bellman_ford(graph, goal):
    """J by relaxing all edges until nothing changes, links as the search has them."""
    routes = find_routes(graph, goal)
    costs = np.full(graph.num_frames, np.inf)
    for frame in routes.arrivals:
        gap = np.linalg.norm(graph.latents.z[frame].astype(float) - goal)
        origin, target = graph.latents.z[frame][None], np.asarray(goal)[None, None]
        charge = graph.reach.charge(graph.measure(origin, target))[0, 0]
        costs[frame] = float(graph.pricing.price(gap)) + charge
    u, v, w = graph.bridges()
    inside = np.setdiff1d(
        np.arange(graph.num_frames - 1), graph.latents.episode_offsets[1:-1] - 1
    )
    starts = np.concatenate([u, inside])
    ends = np.concatenate([v, inside + 1])
    weights = np.concatenate([w, np.ones(len(inside))])
    for _ in range(graph.num_frames):
        before = costs.copy()
        np.minimum.at(costs, starts, costs[ends] + weights)
        if np.array_equal(before, costs):
            break
    return costs


@pytest.mark.parametrize("goal", [5, 100, 333])
def test_the_search_is_exact_on_directed_bridges(parts, goal):
    """J equals Bellman-Ford's, with and without landmarks and an early stop."""
    graph = reach_graph(parts)
    target, start = graph.latents.z[goal], graph.latents.z[(goal + 170) % 360]
    expected = bellman_ford(graph, target)
    assert np.allclose(find_routes(graph, target).cost_to_go, expected)
    for landmarks in (None, choose_landmarks(graph, 3)):
        early = find_routes(graph, target, start=start, landmarks=landmarks)
        whole = find_routes(graph, target)
        assert np.array_equal(early.complete().cost_to_go, whole.cost_to_go)
        one, other = MetroPlanner(early)(start), MetroPlanner(whole)(start)
        assert one.path == other.path
        assert one.cost_to_go == other.cost_to_go


def test_the_walk_counts_frames_and_the_search_charges(parts):
    """A sub-goal lies within H frames, entry included, whatever the search charged."""
    graph = reach_graph(parts)
    for goal in (10, 200, 300):
        planner = MetroPlanner(find_routes(graph, graph.latents.z[goal], held_out=0))
        for frame in range(0, 30, 7):
            sub_goal = planner(graph.latents.z[frame])
            if sub_goal.kind is SubGoalKind.ROUTE and sub_goal.hops > 1:
                assert sub_goal.spent <= H
            assert sub_goal.cost_to_go >= sub_goal.spent - 1e-9


def test_without_reach_the_graph_is_the_papers(parts):
    """The same table, narrowed to k, gives the paper's graph bit for bit."""
    latents, table, pricing = parts
    wide = build_graph(latents, table.nearest(4), pricing)
    plain = build_graph(latents, find_neighbours(latents, 4), pricing)
    assert np.array_equal(wide.bridge_frame, plain.bridge_frame)
    assert np.array_equal(wide.bridge_cost, plain.bridge_cost)
    assert not wide.is_directed


def test_a_graph_without_its_model_says_what_to_do(parts):
    """Goals and observations cannot be linked without the world model."""
    graph = build_graph(*parts, PRICING)
    with pytest.raises(GraphError, match="need its world model"):
        find_routes(graph, graph.latents.z[0])


def test_a_table_without_distances_is_refused(parts):
    """Reach needs a table that was measured."""
    latents, table, pricing = parts
    with pytest.raises(GraphError, match="no reach distances"):
        build_graph(latents, replace(table, reach=None), pricing, PRICING)


def test_measuring_resumes_and_does_not_depend_on_threads(parts, tmp_path):
    """Finished rows are kept; any number of threads gives the same table."""
    from metro.storage.parts import Parts

    latents, table, _ = parts
    calls = []

    def dying(origins, targets):
        calls.append(len(origins))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return Sideways()(origins, targets)

    with pytest.raises(KeyboardInterrupt):
        measure_table(latents, table.frame, dying, checkpoint=Parts(tmp_path, "x"))
    counted = []

    def counting(origins, targets):
        counted.append(len(origins))
        return Sideways()(origins, targets)

    again = measure_table(
        latents, table.frame, counting, workers=2, checkpoint=Parts(tmp_path, "x")
    )
    assert sum(counted) < latents.num_frames
    assert np.array_equal(again, table.reach)
