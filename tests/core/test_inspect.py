"""Figures of a graph: components, joined pairs, saturation."""

import numpy as np
import oracles
import pytest
from corpora import random_case

import metro
from metro.core.inspect import inspect_graph
from metro.core.saturation import measure_saturation
from metro.errors import LatentsError
from perf.synthetic import make_latents, make_states


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
    """Episodes of one frame among longer ones, and nothing to compare with."""
    latents = metro.Latents.from_episodes([[[0.0], [1.0]], [[0.5]]])
    pricing = metro.PricingCurve.fit(latents, 1)
    graph = metro.build_graph(latents, metro.find_neighbours(latents), pricing)
    assert inspect_graph(graph).joined_pairs == 1.0
    assert measure_saturation(latents.subset([0])) == []


def test_saturation_rises_to_one(rooms):
    """Near frames are near; far ones look like frames of another episode."""
    curve = measure_saturation(rooms)
    assert [point.distance for point in curve] == [1, 2, 5, 10, 15, 25, 50]
    medians = [point.median for point in curve]
    assert medians[0] < 0.3
    assert 0.8 < medians[-1] < 1.2
    assert all(point.lower <= point.median <= point.upper for point in curve)


def test_saturation_of_a_line_is_exact():
    """On x = 0, 1, 2, ... the gap at d is d."""
    line = np.arange(30.0)[:, None]
    latents = metro.Latents.from_episodes([line, line + 100])
    near, far = measure_saturation(latents, [1, 20])
    assert far.median == pytest.approx(20 * near.median)


def test_identical_frames_have_no_scale():
    """A collapsed encoder: nothing to divide by, nothing reported."""
    latents = metro.Latents(np.ones((10, 3)), [0, 5, 10])
    assert measure_saturation(latents) == []


def test_synthetic_latents_are_seeded_and_cut_to_size():
    """The same seed gives the same rows; noise and dimensions are as asked."""
    for state_dim in (2, 5, 8):
        latents = make_latents(250, state_dim=state_dim, episode_length=100, dim=32)
        again = make_latents(250, state_dim=state_dim, episode_length=100, dim=32)
        assert latents.digest == again.digest
        assert latents.episode_lengths.tolist() == [100, 100, 50]
        assert latents.dim == 32
    noisy = make_latents(250, state_dim=8, episode_length=100, dim=32, noise=0.5)
    assert np.std(noisy.z - latents.z) == pytest.approx(0.5, rel=0.05)
    assert np.abs(make_states(3, 50, state_dim=6)).max() <= 1
    with pytest.raises(LatentsError, match="^state_dim must be 2 or at least 5, got 3"):
        make_latents(10, state_dim=3)


def test_synthetic_rooms_have_a_wall():
    """Between rooms every path passes the door around y = 0."""
    states = make_states(200, 90, state_dim=2, seed=1)
    crossing = np.sign(states[:, 1:, 0]) != np.sign(states[:, :-1, 0])
    assert crossing.sum() > 50
    assert np.abs(states[:, 1:][crossing][:, 1]).max() < 0.3
