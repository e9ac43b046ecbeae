"""Graphs that search tests share, and the NumPy search in place of the kernels."""

from collections.abc import Iterator
from contextlib import contextmanager
from unittest.mock import patch

import numpy as np

import metro
import numpy_search
from metro.kernels.search import buckets, narrow


@contextmanager
def numpy_kernels() -> Iterator[None]:
    """Let the NumPy twins search while the block runs."""
    with (
        patch.object(buckets, "settle", numpy_search.settle),
        patch.object(narrow, "settle_narrow", numpy_search.settle_narrow),
    ):
        yield


def in_numpy(function, *args, **kwargs):
    """Return what a function returns with the NumPy search."""
    with numpy_kernels():
        return function(*args, **kwargs)


def frontier_of(routes):
    """Return where a search that stopped early would be resumed."""
    return routes._unfinished


def assert_same(found, expected):
    """J, succ and the frontier have the same bits."""
    assert found.cost_to_go.dtype == expected.cost_to_go.dtype == np.float64
    assert found.successor.dtype == expected.successor.dtype == np.int32
    assert found.cost_to_go.tobytes() == expected.cost_to_go.tobytes()
    assert found.successor.tobytes() == expected.successor.tobytes()
    assert found.is_complete == expected.is_complete
    if not found.is_complete:
        ours, theirs = frontier_of(found), frontier_of(expected)
        for name in ("frames", "costs", "successors", "least"):
            np.testing.assert_array_equal(getattr(ours, name), getattr(theirs, name))


def synthetic_graph(num_frames, *, length=50, budget=8, whole=False, seed=0):
    """Return a graph with random bridges, too large for the oracles."""
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((num_frames, 2)).astype(np.float32)
    latents = metro.Latents(z, np.append(np.arange(0, num_frames, length), num_frames))
    u, v = rng.integers(0, num_frames, (2, 3 * num_frames))
    kept = u // length != v // length
    ends = np.unique(np.stack([np.minimum(u, v), np.maximum(u, v)], 1)[kept], axis=0)
    cost = rng.uniform(1, budget, len(ends))
    both = np.concatenate([ends, ends[:, ::-1]])
    order = np.lexsort((both[:, 1], both[:, 0]))
    cost = np.tile(np.floor(cost) if whole else cost, 2)[order]
    counts = np.bincount(both[:, 0], minlength=num_frames)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    others = both[order, 1].astype(np.int32)
    table = metro.core.neighbours.NeighbourTable(
        np.zeros((num_frames, 4), np.int32), np.ones((num_frames, 4)), latents.digest
    )
    pricing = metro.PricingCurve(np.arange(1.0, budget + 1))
    return metro.core.graph.FrameGraph(latents, table, pricing, offsets, others, cost)
