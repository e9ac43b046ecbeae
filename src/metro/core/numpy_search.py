"""The backward search in NumPy: for where Numba is missing, and to be compared with."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from metro.core.bounds import Bounds, no_bounds
from metro.core.graph import TEMPORAL_COST, FrameGraph
from metro.types import Costs, FrameIds

SLACK = 1e-9
"""Frames; more than sums of prices and bounds can be off by rounding."""


def settle(
    graph: FrameGraph,
    frames: NDArray[np.int64],
    until: NDArray[np.int64],
    prices: Costs,
    cost_to_go: Costs,
    successor: FrameIds,
) -> tuple[NDArray[np.int64], float]:
    """Settle frames by J alone; see `settle_narrow`."""
    return settle_narrow(
        graph, frames, until, prices, no_bounds(), cost_to_go, successor
    )


def settle_narrow(  # noqa: PLR0913  (as the kernel has them)
    graph: FrameGraph,
    frames: NDArray[np.int64],
    until: NDArray[np.int64],
    prices: Costs,
    bounds: Bounds,
    cost_to_go: Costs,
    successor: FrameIds,
) -> tuple[NDArray[np.int64], float]:
    """Settle frames in buckets one frame wide, in place.

    Return those left unsettled and the least J + bound among them.

    A bucket holds the frames whose J + bound lies in [i, i + 1). No edge makes that
    smaller, so what is below the present bucket is final, and no heap is needed.
    Without bounds frames of one bucket cannot improve one another; with them they can,
    and a bucket is worked through until they do not.
    """
    buckets: dict[int, list[NDArray[np.int64]]] = {}

    def keys(some: NDArray[np.int64]) -> Costs:
        return cost_to_go[some] + bounds.of(some)

    _file(buckets, frames, keys(frames))
    while buckets:
        number = min(buckets)
        if len(until) and is_certain(
            cost_to_go[until], prices, bounds.of(until), number
        ):
            groups = [group for filed in buckets.values() for group in filed]
            left: NDArray[np.int64] = np.unique(np.concatenate(groups))
            left = left[keys(left) >= number]
            return left, float(keys(left).min(initial=np.inf))
        filed = np.unique(np.concatenate(buckets.pop(number)))
        due = filed[np.floor(keys(filed)) == number]
        improved = _relax(graph, due, cost_to_go, successor)
        _file(buckets, improved, keys(improved))
    return frames[:0], np.inf


def is_certain(costs: Costs, prices: Costs, bounds: Costs, number: float) -> bool:
    """Return whether it is known which of several frames has the least price + J.

    Args:
        costs: ``[n]`` J, or more, of the frames.
        prices: ``[n]`` what is added.
        bounds: ``[n]`` their bounds.
        number: What J + bound is at least where J is not known yet.
    """
    unknown = costs + bounds >= number
    if not unknown.any():
        return True
    best = (prices + costs)[~unknown].min(initial=np.inf)
    least = (prices + (number - bounds))[unknown].min()
    return bool(best + SLACK < least)


def _relax(
    graph: FrameGraph,
    settled: NDArray[np.int64],
    cost_to_go: Costs,
    successor: FrameIds,
) -> NDArray[np.int64]:
    """Offer every settled frame to those that lead to it; return who got cheaper."""
    v, u, cost = edges_into(graph, settled)
    offer = cost_to_go[v] + cost
    order = np.lexsort((v, offer, u))
    v, u, offer = v[order], u[order], offer[order]
    best = np.ones(len(u), dtype=np.bool_)
    best[1:] = u[1:] != u[:-1]
    v, u, offer = v[best], u[best], offer[best]
    cheaper = offer < cost_to_go[u]
    lower = (offer == cost_to_go[u]) & (v < successor[u])
    taken = cheaper | lower
    cost_to_go[u[taken]], successor[u[taken]] = offer[taken], v[taken]
    return u[cheaper]


def edges_into(
    graph: FrameGraph, frames: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Costs]:
    """Return all edges u → v into ``frames`` as (v, u, cost)."""
    starts = graph.latents.episode_offsets
    ridden = frames[starts[graph.latents.episode_of(frames)] != frames]
    v, u, cost = bridges_of(graph, frames)
    return (
        np.concatenate([ridden, v]),
        np.concatenate([ridden - 1, u]),
        np.concatenate([np.full(len(ridden), TEMPORAL_COST), cost]),
    )


def bridges_of(
    graph: FrameGraph, frames: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Costs]:
    """Return all bridges at ``frames`` as (frame, other end, cost)."""
    starts = graph.bridge_offsets[frames]
    counts = graph.bridge_offsets[frames + 1] - starts
    ends = np.cumsum(counts)
    within = np.arange(counts.sum()) - np.repeat(ends - counts, counts)
    picked = np.repeat(starts, counts) + within
    others = graph.bridge_frame[picked].astype(np.int64)
    return np.repeat(frames, counts), others, graph.bridge_cost[picked]


def _file(
    buckets: dict[int, list[NDArray[np.int64]]],
    frames: NDArray[np.int64],
    costs: Costs,
) -> None:
    """Put each frame into the bucket of its cost."""
    for number, group in _groups(np.floor(costs).astype(np.int64), frames):
        buckets.setdefault(number, []).append(group)


def _groups(
    numbers: NDArray[np.int64], frames: NDArray[np.int64]
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    for group in np.split(order, starts)[1:]:
        yield int(numbers[group[0]]), frames[group]
