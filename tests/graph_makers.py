"""Graphs that search tests share."""

import numpy as np

import metro


def assert_same(found, expected):
    """J, succ and the frontier have the same bits."""
    assert found.cost_to_go.dtype == expected.cost_to_go.dtype == np.float64
    assert found.successor.dtype == expected.successor.dtype == np.int32
    assert found.cost_to_go.tobytes() == expected.cost_to_go.tobytes()
    assert found.successor.tobytes() == expected.successor.tobytes()
    assert found.is_complete == expected.is_complete
    if found.frontier is not None:
        *ours, _ = found.frontier
        *theirs, _ = expected.frontier
        for one, other in zip(ours, theirs, strict=True):
            np.testing.assert_array_equal(one, other)


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
