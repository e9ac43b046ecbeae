"""Laws of landmarks: narrower searches, the same bits."""

import re
from contextlib import nullcontext

import numpy as np
import pytest
from corpora import random_case
from graph_makers import (
    assert_same,
    frontier_of,
    numpy_kernels,
)

import metro
from metro.core.entry import entry_at, find_entries
from metro.core.landmarks import LARGEST, choose_landmarks
from metro.core.search import find_routes, routes_to_frame
from metro.errors import GraphError
from numpy_search import edges_into


@pytest.fixture(params=["compiled", "numpy"])
def engine(request):
    """Both searches."""
    with numpy_kernels() if request.param == "numpy" else nullcontext():
        yield request.param


@pytest.fixture(scope="module")
def landmarks(rooms_graph):
    """Eight landmarks of two rooms."""
    return choose_landmarks(rooms_graph)


def same(one, other):
    """Return whether two sub-goals are the same in everything but the latent."""
    names = ("kind", "frame", "cost_to_go", "entry", "spent", "hops", "path")
    return all(getattr(one, name) == getattr(other, name) for name in names)


def test_landmarks_know_the_ways(rooms_graph, landmarks):
    """Costs are those of routes to the landmark; each is far from those before."""
    for number, frame in enumerate(landmarks.frames):
        anywhere = find_routes(rooms_graph, rooms_graph.latents.z[0])
        ways = routes_to_frame(anywhere, int(frame)).cost_to_go
        kept = np.minimum(ways, LARGEST).astype(np.float32)
        np.testing.assert_array_equal(landmarks.costs[:, number], kept)
    assert len(set(landmarks.frames.tolist())) == 8


def test_landmarks_know_the_ways_back(rooms_graph, landmarks):
    """What it costs from a landmark to a frame is taken off; episodes end, ways do."""
    last = int(rooms_graph.latents.episode_offsets[1]) - 1
    anywhere = find_routes(rooms_graph, rooms_graph.latents.z[0])
    for frame in (0, 17, last, 900, 1799):
        ways = routes_to_frame(anywhere, frame).cost_to_go[landmarks.frames]
        kept = -np.minimum(ways, LARGEST).astype(np.float32)
        np.testing.assert_allclose(landmarks.costs[frame, 8:], kept, rtol=1e-6)
    assert (landmarks.costs[:, :8] != -landmarks.costs[:, 8:]).mean() > 0.5


@pytest.mark.parametrize("held_out", [None, 7])
def test_bounds_never_exceed_what_it_costs(rooms_graph, landmarks, held_out):
    """Also with an episode left out: ways get longer, not shorter."""
    z = rooms_graph.latents.z
    for start in (0, 450, 1300):
        (entries,) = find_entries(rooms_graph, [z[start]], held_out=held_out)
        bounds = landmarks.bounds(entries)
        assert bounds.of(np.arange(len(z))).max() > 5
        for goal in range(3, 1800, 200):
            anywhere = find_routes(rooms_graph, z[0], held_out=held_out)
            ways = routes_to_frame(anywhere, goal).cost_to_go[entries.frames]
            assert bounds.of(np.array([goal]))[0] <= (entries.prices + ways).min()


def test_no_edge_costs_less_than_its_bounds_differ(rooms_graph, landmarks):
    """With room for rounding: keys never fall along a search."""
    bounds = landmarks.bounds(entry_at(900))
    frames = np.arange(rooms_graph.num_frames)
    v, u, cost = edges_into(rooms_graph.in_edges, frames)
    assert (bounds.of(v) - bounds.of(u) < cost - 5e-4).all()


def test_searches_settle_the_same_bits(engine):
    """On hundreds of corpora, lattices full of ties included; then they go on."""
    stopped, narrower = 0, 0
    for seed in range(7000, 7150):
        case = random_case(seed, lattice=seed % 2 == 0)
        z = case.latents.z
        guides = choose_landmarks(case.graph, 3)
        question = {"held_out": case.held_out, "start": z[len(z) // 2]}
        plain = find_routes(case.graph, case.goal, **question)
        found = find_routes(case.graph, case.goal, landmarks=guides, **question)
        settled = np.isfinite(found.cost_to_go)
        full = case.routes
        assert (found.cost_to_go[settled] == full.cost_to_go[settled]).all()
        assert (found.successor[settled] == full.successor[settled]).all()
        assert_same(found.complete(), full)
        stopped += not found.is_complete
        narrower += settled.sum() < np.isfinite(plain.cost_to_go).sum()
    assert stopped > 30
    assert narrower > 20


def test_planners_with_landmarks_plan_the_same(engine, rooms_graph, landmarks):
    """From anywhere, one observation after another, gone astray or not."""
    z, rng = rooms_graph.latents.z, np.random.default_rng(0)
    for goal in (40, 900, 1500):
        whole = metro.MetroPlanner(find_routes(rooms_graph, z[goal], held_out=3))
        question = {"held_out": 3, "start": z[1200], "landmarks": landmarks}
        guided = metro.MetroPlanner(find_routes(rooms_graph, z[goal], **question))
        for frame in (1200, *rng.integers(0, 1800, 25)):
            observed = z[frame] + rng.normal(0, 0.1, 24)
            assert same(whole(observed), guided(observed))
        assert not guided.routes.is_complete


def test_what_was_found_before_makes_certain(engine, rooms_graph, landmarks):
    """On the way, entries that were never settled mostly need no further search."""
    z = rooms_graph.latents.z
    found = find_routes(rooms_graph, z[900], start=z[1200], landmarks=landmarks)
    (entries,) = find_entries(rooms_graph, [z[1200]], held_out=None)
    best = entries.frames[np.argmin(entries.prices + found.cost_to_go[entries.frames])]
    unsettled, searched = 0, 0
    for frame in found.route(int(best)):
        (around,) = find_entries(rooms_graph, [z[frame]], held_out=None)
        unsettled += not np.isfinite(found.cost_to_go[around.frames]).all()
        searched += found.until_certain(around) is not found
    assert 0 < searched < unsettled
    frontier = frontier_of(found)
    key = frontier.costs + frontier.bounds.of(frontier.frames)
    assert frontier.least == key.min()


def test_what_is_settled_is_not_searched_again(engine, rooms_graph, landmarks):
    """Also by searches before the last one, whose bounds were other ones."""
    z = rooms_graph.latents.z
    found = find_routes(rooms_graph, z[900], start=z[1200], landmarks=landmarks)
    for frame in (40, 1500, 700):
        found = found.until_certain(entry_at(frame))
        for settled in np.flatnonzero(np.isfinite(found.cost_to_go)):
            assert found.until_certain(entry_at(int(settled))) is found


def test_what_cannot_be_reached_is_searched_to_the_end(rooms_graph, landmarks):
    """Then no frame has a route, and the search is complete."""
    far = np.full(24, 1e4)
    found = find_routes(
        rooms_graph, far, start=rooms_graph.latents.z[0], landmarks=landmarks
    )
    assert found.is_complete
    assert np.isinf(found.cost_to_go).all()


def test_bad_landmarks(rooms_graph, landmarks):
    """The message says what was given."""
    message = "count must be a whole number of at least 1, got 0."
    with pytest.raises(GraphError, match=f"^{re.escape(message)}$"):
        choose_landmarks(rooms_graph, 0)
    other = metro.build_graph(
        rooms_graph.latents, rooms_graph.table, rooms_graph.pricing
    )
    message = "landmarks are of another graph. Choose them for this one."
    with pytest.raises(GraphError, match=f"^{re.escape(message)}$"):
        find_routes(other, rooms_graph.latents.z[0], landmarks=landmarks)
