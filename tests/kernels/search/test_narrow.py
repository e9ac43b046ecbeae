"""The compiled search with bounds equals its NumPy twin, bit for bit."""

import pytest
from graph_makers import assert_same, in_numpy, synthetic_graph

from metro.core.entry import entry_at
from metro.core.landmarks import choose_landmarks
from metro.core.search import find_routes


@pytest.mark.parametrize("budget", [1, 8, 80])
def test_compiled_equals_numpy_with_bounds(budget):
    """Buckets of many blocks, filled again and again; rings shorter than bounds."""
    graph = synthetic_graph(20_000, budget=budget, seed=budget)
    guides, z = choose_landmarks(graph), graph.latents.z
    question = {"held_out": 3, "start": z[9_999], "landmarks": guides}
    found = find_routes(graph, z[7], **question)
    after = found.until_certain(entry_at(4_321))
    again = in_numpy(find_routes, graph, z[7], **question)
    assert_same(found, again)
    assert_same(after, in_numpy(again.until_certain, entry_at(4_321)))
