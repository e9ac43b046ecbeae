"""The backward search in NumPy: the slow twin that the compiled searches must equal.

Both functions take what their kernels take and return what those return, so that a test
can put them in a kernel's place (`graph_makers.in_numpy`).
"""

import numpy as np

from metro.core.shortest_paths import is_certain, no_bounds


def settle(  # noqa: PLR0913 (as the kernel takes them)
    edges, ring, frames, until, prices, cost_to_go, successor
):
    """Settle frames by J alone; the twin of `metro.kernels.search.buckets.settle`."""
    asked = (frames, until, prices, no_bounds().arrays)
    return settle_narrow(edges, ring, *asked, cost_to_go, successor)


def settle_narrow(  # noqa: PLR0913 (as the kernel takes them)
    edges, ring, frames, until, prices, bounds, cost_to_go, successor
):
    """Settle frames by J + bound, in buckets one frame wide, in place.

    Return those left unsettled and the least J + bound among them.

    A bucket holds the frames whose J + bound lies in [i, i + 1). No edge makes that
    smaller, so what is below the present bucket is final, and no heap is needed.
    Without bounds, frames of one bucket cannot improve one another. With them they can,
    and a bucket is repeated until nothing improves.
    """
    buckets = {}

    def keys(some):
        return cost_to_go[some] + bounds_of(bounds, some)

    _file(buckets, frames, keys(frames))
    while buckets:
        number = min(buckets)
        lower = bounds_of(bounds, until)
        if len(until) and is_certain(cost_to_go[until], prices, lower, number):
            groups = [group for filed in buckets.values() for group in filed]
            left = np.unique(np.concatenate(groups))
            left = left[keys(left) >= number]
            return left, float(keys(left).min(initial=np.inf))
        filed = np.unique(np.concatenate(buckets.pop(number)))
        due = filed[np.floor(keys(filed)) == number]
        improved = _relax(edges, due, cost_to_go, successor)
        _file(buckets, improved, keys(improved))
    return frames[:0], np.inf


def bounds_of(bounds, frames):
    """Return the bounds of frames ``[n]`` from (costs, reach, share)."""
    costs, reach, share = bounds
    if len(reach) == 0:
        return np.zeros(len(frames))
    short = reach - costs[frames].astype(np.float64)
    return share * short.max(axis=1, initial=0.0)


def edges_into(edges, frames):
    """Return all edges u → v into ``frames`` as (v, u, cost)."""
    gates, bridge_frame, bridge_cost = edges
    gates = gates.astype(np.int64)
    later = frames[gates[frames] % 2 == 1]
    starts, stops = gates[frames] // 2, gates[frames + 1] // 2
    picked = [np.arange(*ends) for ends in zip(starts, stops, strict=True)]
    picked = np.concatenate([*picked, np.empty(0, np.int64)]).astype(np.int64)
    return (
        np.concatenate([later, np.repeat(frames, stops - starts)]),
        np.concatenate([later - 1, bridge_frame[picked].astype(np.int64)]),
        np.concatenate([np.ones(len(later)), bridge_cost[picked]]),
    )


def _relax(edges, settled, cost_to_go, successor):
    """Offer every settled frame to those that lead to it; return who got cheaper."""
    v, u, cost = edges_into(edges, settled)
    offer = cost_to_go[v] + cost
    order = np.lexsort((v, offer, u))
    v, u, offer = v[order], u[order], offer[order]
    best = np.ones(len(u), dtype=np.bool_)
    best[1:] = u[1:] != u[:-1]
    v, u, offer = v[best], u[best], offer[best]
    cheaper = offer < cost_to_go[u]
    lower = (offer == cost_to_go[u]) & (v < successor[u])
    taken = cheaper | lower
    cost_to_go[u[taken]] = offer[taken]
    successor[u[taken]] = v[taken]
    return u[cheaper]


def _file(buckets, frames, costs):
    """Put each frame into the bucket of its cost."""
    numbers = np.floor(costs).astype(np.int64)
    for number in np.unique(numbers):
        buckets.setdefault(int(number), []).append(frames[numbers == number])
