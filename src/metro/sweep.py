"""One backward sweep over the graph, compiled or in NumPy, with the same bits."""

from collections.abc import Callable, Iterator
from functools import partial
from threading import Lock
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

import numpy as np
from numpy.typing import NDArray

from metro._checks import check_bridges
from metro.bounds import Bounds, no_bounds
from metro.entry import Entries
from metro.graph import TEMPORAL_COST, FrameGraph
from metro.kernels import has_numba
from metro.types import Costs, Frames

AT_GOAL = -1
"""Successor of a frame whose next hop is the goal itself."""

NO_ROUTE = -2
"""Successor of a frame that cannot reach the goal."""

SLACK = 1e-9
"""Frames; more than sums of prices and bounds can be off by rounding."""


class Frontier(NamedTuple):
    """Frames that a search starts or goes on from: reached, but not settled.

    Attributes:
        frames: Their numbers, each once.
        costs: What is known of their J: an upper bound until they are settled.
        successors: Where they would go next.
    """

    frames: NDArray[np.int64]
    costs: Costs
    successors: Frames


def towards(frame: int) -> Frontier:
    """Return the start of a search for ways to a recorded frame: itself, for free."""
    here = np.array([frame], dtype=np.int64)
    return Frontier(
        frozen(here), frozen(np.zeros(1)), frozen(np.array([AT_GOAL], dtype=np.int32))
    )


def reachable_from(
    graph: FrameGraph, frames: NDArray[np.int64], *, held_out: int | None = None
) -> NDArray[np.bool_]:
    """Return ``[N]`` whether a route leads from any of ``frames`` to each frame."""
    reached = np.zeros(graph.num_frames, dtype=np.bool_)
    if held_out is not None:  # never entered, because it seems reached already
        reached[graph.latents.rows_of(held_out)] = True
    last = np.zeros(graph.num_frames, dtype=np.bool_)
    last[graph.latents.episode_offsets[1:] - 1] = True
    front = frames
    while len(front):
        reached[front] = True
        _, others, _ = _bridges_of(graph, front)
        front = np.unique(np.concatenate([front[~last[front]] + 1, others]))
        front = front[~reached[front]]
    if held_out is not None:
        reached[graph.latents.rows_of(held_out)] = False
    return reached


_Settle = Callable[..., NDArray[np.int64]]
"""(frames, until, prices, [bounds,] cost_to_go, successor) -> frames left."""


def sweep(
    graph: FrameGraph,
    frontier: Frontier,
    held_out: int | None,
    entries: Entries | None = None,
    bounds: Bounds | None = None,
    known: tuple[Costs, Frames] | None = None,
) -> tuple[Costs, Frames, Frontier | None]:
    """Return J, succ and what is left to do.

    Args:
        graph: The graph.
        frontier: Where to start or to go on.
        held_out: The episode to leave out, or None.
        entries: Stop as soon as it is certain which is the cheapest; None: never.
        bounds: What keeps the search narrow; None: nothing, and the costs of the
            frontier differ by at most H + 1.
        known: J and succ of what was settled before; worked on in place.
    """
    if known is None:
        cost_to_go = np.full(graph.num_frames, np.inf)
        successor = np.full(graph.num_frames, NO_ROUTE, dtype=np.int32)
    else:
        cost_to_go, successor = known
    rows = slice(0) if held_out is None else graph.latents.rows_of(held_out)
    mask = cost_to_go[rows]
    mask[mask == np.inf] = -np.inf  # nothing is below: the episode is never entered
    frames = frontier.frames
    cost_to_go[frames], successor[frames] = frontier.costs, frontier.successors
    until, prices = np.empty(0, dtype=np.int64), np.empty(0)
    if entries is not None:
        until, prices = entries.frames, entries.prices
    asked = (frozen(until), frozen(prices), *(() if bounds is None else (bounds,)))
    settle = _engine(graph, narrow=bounds is not None)
    waiting = np.zeros(graph.num_frames, dtype=np.bool_)
    waiting[settle(frames, *asked, cost_to_go, successor)] = True
    left = np.flatnonzero(waiting)  # each once, in order
    mask[mask == -np.inf] = np.inf
    ahead = Frontier(frozen(left), frozen(cost_to_go[left]), frozen(successor[left]))
    cost_to_go[left], successor[left] = np.inf, NO_ROUTE
    return frozen(cost_to_go), frozen(successor), ahead if len(left) else None


def _engine(graph: FrameGraph, *, narrow: bool) -> _Settle:
    """Return the search of a graph: compiled, or in NumPy where Numba is missing."""
    _require_sound(graph)
    kernels = _kernels()
    if kernels is None:
        return partial(_settle_narrow if narrow else _settle, graph)
    return partial(kernels[narrow], *_packed(graph))


def _require_sound(graph: FrameGraph) -> None:
    """Check once what no search checks again: where bridges lead and what they cost."""
    with _lock:
        if graph not in _sound:
            check_bridges(
                graph.bridge_offsets,
                graph.bridge_frame,
                graph.bridge_cost,
                num_frames=graph.num_frames,
                waypoint_budget=graph.waypoint_budget,
            )
            _sound.add(graph)


def _kernels() -> tuple[Any, Any] | None:
    """Return both searches compiled, or None, after one warning, without Numba."""
    if not has_numba():
        return None
    from metro.kernels.buckets import settle
    from metro.kernels.narrow import settle_narrow

    return settle, settle_narrow


_Edges = tuple[NDArray[Any], Frames, Costs]

_packed_graphs: WeakKeyDictionary[FrameGraph, tuple[_Edges, int]] = WeakKeyDictionary()
_sound: WeakSet[FrameGraph] = WeakSet()
_lock = Lock()


def _packed(graph: FrameGraph) -> tuple[_Edges, int]:
    """Return a graph as the kernel wants it, made once: edges, buckets in the ring."""
    with _lock:
        if graph not in _packed_graphs:
            frame = graph.bridge_frame.astype(np.int32, copy=False)
            cost = graph.bridge_cost.astype(np.float64, copy=False)
            ring = 1 << (graph.waypoint_budget + 1).bit_length()
            edges = _gates(graph), _plain(frame), _plain(cost)
            _packed_graphs[graph] = edges, ring
        return _packed_graphs[graph]


def _gates(graph: FrameGraph) -> NDArray[Any]:
    """Return offsets doubled, plus one where the episode goes on from the frame before.

    One read then tells both, and 32 bits keep twice as many of them in the cache.
    """
    gates = 2 * graph.bridge_offsets + 1
    gates[graph.latents.episode_offsets] -= 1
    narrow = gates[-1] < 2**32
    return _plain(gates.astype(np.uint32 if narrow else np.int64, copy=False))


def _plain(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view of one kind, so that one compiled kernel serves all."""
    return frozen(np.ascontiguousarray(array).view())


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array itself, read-only from now on."""
    array.setflags(write=False)
    return array


def _settle(
    graph: FrameGraph,
    frames: NDArray[np.int64],
    until: NDArray[np.int64],
    prices: Costs,
    cost_to_go: Costs,
    successor: Frames,
) -> NDArray[np.int64]:
    """Settle frames by J alone; see `_settle_narrow`."""
    return _settle_narrow(
        graph, frames, until, prices, no_bounds(), cost_to_go, successor
    )


def _settle_narrow(  # noqa: PLR0913  (as the kernel has them)
    graph: FrameGraph,
    frames: NDArray[np.int64],
    until: NDArray[np.int64],
    prices: Costs,
    bounds: Bounds,
    cost_to_go: Costs,
    successor: Frames,
) -> NDArray[np.int64]:
    """Settle frames in buckets one frame wide, in place; return those left unsettled.

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
            return left[keys(left) >= number]
        filed = np.unique(np.concatenate(buckets.pop(number)))
        due = filed[np.floor(keys(filed)) == number]
        improved = _relax(graph, due, cost_to_go, successor)
        _file(buckets, improved, keys(improved))
    return frames[:0]


def least_key(frontier: Frontier, bounds: Bounds) -> float:
    """Return what J + bound is at least of all that is not settled."""
    if not has_numba():
        return float((frontier.costs + bounds.of(frontier.frames)).min())
    from metro.kernels import narrow

    return float(narrow.least_key(frontier.frames, frontier.costs, bounds))


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
    successor: Frames,
) -> NDArray[np.int64]:
    """Offer every settled frame to those that lead to it; return who got cheaper."""
    v, u, cost = _edges_into(graph, settled)
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


def _edges_into(
    graph: FrameGraph, frames: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Costs]:
    """Return all edges u → v into ``frames`` as (v, u, cost)."""
    starts = graph.latents.episode_offsets
    ridden = frames[starts[graph.latents.episode_of(frames)] != frames]
    v, u, cost = _bridges_of(graph, frames)
    return (
        np.concatenate([ridden, v]),
        np.concatenate([ridden - 1, u]),
        np.concatenate([np.full(len(ridden), TEMPORAL_COST), cost]),
    )


def _bridges_of(
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
