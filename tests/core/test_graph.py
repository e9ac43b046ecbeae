"""Bridges join look-alikes of different episodes; the table outlives H."""

import numpy as np
import pytest
from corpora import random_case

import metro
from metro.errors import GraphError, PricingError


def test_bridges_are_symmetric_and_cross_episodes(rooms, rooms_graph):
    """Both ends list a bridge at the same cost, and no bridge stays in an episode."""
    u, v, cost = rooms_graph.bridges()
    assert (u < v).all()
    assert (rooms.episode_of(u) != rooms.episode_of(v)).all()
    assert ((cost >= 1) & (cost <= 8)).all()
    for a, b, price in zip(u[:50], v[:50], cost[:50], strict=True):
        assert rooms_graph.edge_cost(a, b) == rooms_graph.edge_cost(b, a) == price


def test_edges_that_do_not_exist_cost_infinity(rooms_graph):
    """Time does not run backwards, and episodes do not run into each other."""
    assert rooms_graph.edge_cost(0, 1) == 1
    assert rooms_graph.edge_cost(1, 0) == np.inf
    assert rooms_graph.edge_cost(0, 0) == np.inf
    last = int(rooms_graph.latents.episode_offsets[1]) - 1
    bridged = rooms_graph.bridge_frame[slice(*rooms_graph.bridge_offsets[last:][:2])]
    assert (rooms_graph.edge_cost(last, last + 1) < np.inf) == (last + 1 in bridged)


def test_one_call_builds_what_three_build(rooms, rooms_graph):
    """FrameGraph.from_latents = find_neighbours, PricingCurve.fit, build_graph."""
    seen = []
    graph = metro.FrameGraph.from_latents(rooms, progress=lambda *now: seen.append(now))
    assert graph.waypoint_budget == rooms_graph.waypoint_budget == 8
    np.testing.assert_array_equal(graph.table.frame, rooms_graph.table.frame)
    np.testing.assert_array_equal(graph.bridge_frame, rooms_graph.bridge_frame)
    np.testing.assert_array_equal(graph.bridge_cost, rooms_graph.bridge_cost)
    np.testing.assert_array_equal(graph.pricing.gaps, rooms_graph.pricing.gaps)
    assert seen[-1] == (rooms.num_frames, rooms.num_frames)


def test_a_wrong_budget_is_refused_before_the_table(rooms):
    """The table of a large corpus takes hours."""

    def never(done, total):
        raise AssertionError

    with pytest.raises(PricingError, match="waypoint_budget must be"):
        metro.FrameGraph.from_latents(rooms, 60, progress=never)
    with pytest.raises(GraphError, match="num_neighbours must be"):
        metro.FrameGraph.from_latents(rooms, num_neighbours=0, progress=never)


def test_a_corpus_builds_its_own_graph(rooms_graph):
    """FrameGraph.from_corpus asks the corpus, with all options."""
    asked = []

    class Corpus:
        def build_graph(self, *args, **options):
            asked.append((args, options))
            return rooms_graph

    graph = metro.FrameGraph.from_corpus(
        Corpus(), "model", waypoint_budget=5, cache="a.metro", num_neighbours=3
    )
    assert graph is rooms_graph
    options = {"waypoint_budget": 5, "cache": "a.metro", "num_neighbours": 3}
    assert asked == [(("model",), options)]


def test_one_episode_is_a_line():
    """Without other episodes there are no bridges, and routes still work."""
    z = np.arange(10.0)[:, None]
    latents = metro.Latents(z, [0, 10])
    pricing = metro.PricingCurve.fit(latents, 2)
    graph = metro.build_graph(latents, metro.find_neighbours(latents), pricing)
    assert graph.num_bridges == 0
    routes = metro.find_routes(graph, z[9])
    assert routes.cost_to_go[0] == pytest.approx(9.0)  # 7 ridden, then a jump of 2


def test_repricing_reuses_the_table(rooms):
    """Another H needs no new table, and gives what a fresh build gives."""
    table = metro.find_neighbours(rooms)
    counts = []
    for budget in (2, 8, 20):
        pricing = metro.PricingCurve.fit(rooms, budget)
        graph = metro.build_graph(rooms, table, pricing)
        _, _, cost = graph.bridges()
        assert (cost <= budget).all()
        counts.append(len(cost))
    assert counts == sorted(counts)


def test_a_table_of_another_corpus_is_refused(rooms):
    """By size, or by digest if the size is the same."""
    table, pricing = metro.find_neighbours(rooms), metro.PricingCurve.fit(rooms, 4)
    smaller = rooms.subset(range(5))
    with pytest.raises(GraphError, match="it has 1800 frames, the latents have 300"):
        metro.build_graph(smaller, table, pricing)
    other = metro.Latents(rooms.z + 1, rooms.episode_offsets)
    with pytest.raises(GraphError, match="another corpus: its latents have digest"):
        metro.build_graph(other, table, pricing)


@pytest.mark.parametrize("seed", range(40))
def test_costs_do_not_depend_on_the_order_of_episodes(seed):
    """Episodes in another order give the same J for the same frames."""
    case = random_case(seed, lattice=False)
    episodes = [
        case.latents.z[case.latents.rows_of(m)]
        for m in range(case.latents.num_episodes)
    ]
    order = np.random.default_rng(seed).permutation(len(episodes))
    shuffled = metro.Latents.from_episodes([episodes[m] for m in order])
    table = metro.find_neighbours(shuffled, case.num_neighbours)
    pricing = metro.PricingCurve.fit(shuffled, case.waypoint_budget)
    routes = metro.find_routes(metro.build_graph(shuffled, table, pricing), case.goal)
    straight = metro.find_routes(case.graph, case.goal)
    rows = [np.arange(case.latents.num_frames)[case.latents.rows_of(m)] for m in order]
    np.testing.assert_allclose(
        routes.cost_to_go, straight.cost_to_go[np.concatenate(rows)], rtol=1e-12
    )
