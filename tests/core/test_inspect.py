"""What `metro inspect` reports: components and joined pairs."""

import oracles
import pytest
from corpora import random_case

import metro
from metro.core.inspect import inspect_graph


@pytest.mark.parametrize("seed", range(60))
def test_joined_pairs_and_components_equal_a_walk_from_every_frame(seed):
    """In a small graph the share of joined pairs is counted, not estimated."""
    case = random_case(seed, lattice=seed % 2 == 0)
    figures = inspect_graph(case.graph)
    curve = case.pricing.gaps.tolist()
    out = oracles.edges(case.oracle, curve, case.num_neighbours)
    reached = {u: oracles.reachable(out, [u]) for u in out}
    pairs = len(out) * (len(out) - 1)
    joined = sum(len(found) - 1 for found in reached.values())
    assert figures.joined_pairs == pytest.approx(joined / pairs)
    strong = {frozenset(v for v in reached[u] if u in reached[v]) for u in out}
    assert figures.num_strong_components == len(strong)
    assert figures.largest_strong_component == max(map(len, strong)) / len(out)
    both_ways = {u: set() for u in out}
    for u, heads in out.items():
        for v in heads:
            both_ways[u].add(v)
            both_ways[v].add(u)
    weak = {frozenset(oracles.reachable(both_ways, [u])) for u in out}
    assert figures.num_components == len(weak)


def test_a_larger_graph_is_sampled(rooms_graph):
    """And says from how many frames."""
    figures = inspect_graph(rooms_graph)
    assert figures.joined_pairs_sources == 256
    assert figures.to_json()["saturation"][0]["distance"] == 1
    assert figures.bridges_per_frame == 2 * rooms_graph.num_bridges / 1800


def test_single_frames():
    """Episodes of one frame among longer ones are counted like all others."""
    latents = metro.Latents.from_episodes([[[0.0], [1.0]], [[0.5]]])
    pricing = metro.PricingCurve.fit(latents, 1)
    graph = metro.build_graph(latents, metro.find_neighbours(latents), pricing)
    assert inspect_graph(graph).joined_pairs == 1.0
