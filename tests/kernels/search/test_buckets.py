"""The compiled search equals its NumPy twin and the heap, bit for bit."""

from dataclasses import replace

import numpy as np
import oracles
import pytest
from corpora import random_case
from graph_makers import assert_same, in_numpy, synthetic_graph

import metro
from metro.core.search import find_routes, routes_to_frame
from metro.core.shortest_paths import NO_ROUTE, Frontier, search_backwards
from metro.errors import GraphError
from metro.kernels.search import buckets


def cases(count):
    for seed in range(5000, 5000 + count):
        for lattice in (True, False):
            yield random_case(seed, lattice=lattice)


def test_equals_numpy_and_the_heap():
    """On hundreds of corpora, lattices full of ties included."""
    for case in cases(200):
        found = case.routes
        expected = in_numpy(find_routes, case.graph, case.goal, held_out=case.held_out)
        assert_same(found, expected)
        curve = case.pricing.gaps.tolist()
        total, successor = oracles.routes(
            case.oracle, curve, case.num_neighbours, case.goal.tolist(), case.held_out
        )
        np.testing.assert_allclose(found.cost_to_go, total, rtol=1e-12)
        assert found.successor.tolist() == successor


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("budget", [1, 2, 8, 40])
def test_equals_numpy_over_many_blocks(budget, whole):
    """Buckets of more than one block, whole prices (ties), short and long rings."""
    graph = synthetic_graph(30_000, budget=budget, whole=whole, seed=budget)
    for goal, held_out in ((0, None), (12_345, 7)):
        question = (graph, graph.latents.z[goal])
        found = find_routes(*question, held_out=held_out)
        assert np.isfinite(found.cost_to_go).sum() > 20_000
        assert_same(found, in_numpy(find_routes, *question, held_out=held_out))


def test_stops_where_numpy_stops_and_goes_on():
    """Early stops leave the same frontier; completed, nothing differs."""
    stopped = 0
    for case in cases(100):
        start = case.latents.z[len(case.latents.z) // 2]
        question = {"held_out": case.held_out, "start": start}
        found = find_routes(case.graph, case.goal, **question)
        assert_same(found, in_numpy(find_routes, case.graph, case.goal, **question))
        assert_same(found.complete(), case.routes)
        assert_same(in_numpy(found.complete), case.routes)
        stopped += not found.is_complete
    assert stopped > 20


def test_frames_as_goals_equal():
    """routes_to_frame, also to a frame of the episode that is left out."""
    for case in cases(50):
        for frame in (0, case.latents.num_frames - 1):
            found = routes_to_frame(case.routes, frame)
            assert_same(found, in_numpy(routes_to_frame, case.routes, frame))
            assert found.cost_to_go[frame] == 0


def test_no_seeds_and_no_bridges():
    """Nothing to settle; nothing but rides."""
    latents = metro.Latents.from_episodes([np.arange(6.0)[:, None], [[50.0], [51.0]]])
    pricing = metro.PricingCurve.fit(latents, 2)
    graph = metro.build_graph(latents, metro.find_neighbours(latents, 1), pricing)
    assert graph.num_bridges == 0
    far = find_routes(graph, [1000.0])
    assert_same(far, in_numpy(find_routes, graph, [1000.0]))
    assert (far.successor == NO_ROUTE).all()
    near = find_routes(graph, [3.0])
    assert_same(near, in_numpy(find_routes, graph, [3.0]))
    assert near.cost_to_go.tolist() == [4, 3, 2, 1, *[np.inf] * 4]


def test_wide_gates_give_the_same():
    """Graphs of more than two billion bridges need 64 bits."""
    graph = synthetic_graph(2_000)
    gates, *bridges = graph.in_edges
    assert gates.dtype == np.uint32
    cost_to_go, successor = np.full(2_000, np.inf), np.full(2_000, NO_ROUTE, np.int32)
    cost_to_go[5], successor[5] = 0, -1
    wide = (gates.astype(np.int64), *bridges)
    asked = np.array([5]), np.array([], int), np.empty(0)
    buckets.settle(wide, 16, *asked, cost_to_go, successor)
    routes = find_routes(graph, graph.latents.z[0])
    expected = in_numpy(routes_to_frame, routes, 5)
    np.testing.assert_array_equal(cost_to_go, expected.cost_to_go)
    np.testing.assert_array_equal(successor, expected.successor)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"bridge_cost": 0.5}, r"bridge_cost is 0.5, not within \[1, 8\]"),
        ({"bridge_cost": 9.0}, "entry 100 of bridge_cost is 9.0"),
        ({"bridge_cost": np.nan}, "entry 100 of bridge_cost is nan"),
        ({"bridge_frame": 500}, r"bridge_frame is 500, not within \[0, 499\]"),
        ({"bridge_frame": -1}, "entry 100 of bridge_frame is -1"),
        ({"bridge_offsets": 10**6}, "bridge_offsets falls after"),
    ],
)
def test_damaged_bridges_are_refused(damage, message):
    """The kernel never reads outside its arrays."""
    graph = synthetic_graph(500)
    ((name, value),) = damage.items()
    array = getattr(graph, name).copy()
    array[100] = value
    with pytest.raises(GraphError, match=f"The graph is damaged: .*{message}"):
        find_routes(replace(graph, **{name: array}), graph.latents.z[0])


def test_bridges_of_another_size_are_refused():
    """A price is missing."""
    graph = synthetic_graph(500)
    with pytest.raises(GraphError, match="damaged: [0-9]+ bridges have [0-9]+ costs"):
        replace(graph, bridge_cost=graph.bridge_cost[:-1])


def test_a_search_grows_its_room():
    """A frame that thousands lead to does not overflow the pool."""
    episodes = [np.zeros((2, 2)) + 10 * n for n in range(3_000)]
    latents = metro.Latents.from_episodes(episodes)
    hub, spokes = 0, np.arange(2, 6_000)
    offsets = np.concatenate([[0, len(spokes)], np.full(5_999, 0)])
    offsets[2:] = len(spokes) + np.maximum(np.arange(2, 6_001) - 2, 0)
    frames = np.concatenate([spokes, np.full(len(spokes), hub)]).astype(np.int32)
    table = metro.core.neighbours.NeighbourTable(
        np.zeros((6_000, 4), np.int32), np.ones((6_000, 4)), latents.digest
    )
    pricing = metro.PricingCurve(np.arange(1.0, 9))
    costs = np.linspace(1, 8, len(spokes))
    graph = metro.core.graph.FrameGraph(
        latents, table, pricing, offsets, frames, np.concatenate([costs, costs])
    )
    found = search_backwards(graph, Frontier.of_frame(hub))
    np.testing.assert_array_equal(found.cost_to_go[2:], costs)
