"""One backward sweep over the graph, compiled or in NumPy, with the same bits."""

from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary, WeakSet

import numpy as np
from numpy.typing import NDArray

from metro.core.bounds import Bounds
from metro.core.checks import check_bridges
from metro.core.entry import Entries
from metro.core.graph import FrameGraph
from metro.core.numpy_search import bridges_of, settle, settle_narrow
from metro.kernels import has_numba
from metro.types import Costs, FrameIds

AT_GOAL = -1
"""Successor of a frame whose next hop is the goal itself."""

NO_ROUTE = -2
"""Successor of a frame that cannot reach the goal."""


class Frontier(NamedTuple):
    """Frames that a search starts or goes on from: reached, but not settled.

    Attributes:
        frames: Their numbers, each once.
        costs: What is known of their J: an upper bound until they are settled.
        successors: Where they would go next.
        least: What J + bound of all that is not settled is at least, in frames.
        bounds: Those that the search was kept narrow by, or None.
    """

    frames: NDArray[np.int64]
    costs: Costs
    successors: FrameIds
    least: float = 0.0
    bounds: Bounds | None = None


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
        _, others, _ = bridges_of(graph, front)
        front = np.unique(np.concatenate([front[~last[front]] + 1, others]))
        front = front[~reached[front]]
    if held_out is not None:
        reached[graph.latents.rows_of(held_out)] = False
    return reached


_Settle = Callable[..., tuple[NDArray[np.int64], float]]
"""(frames, until, prices, [bounds,] cost_to_go, successor) -> frames left, least."""


def sweep(
    graph: FrameGraph,
    frontier: Frontier,
    held_out: int | None,
    entries: Entries | None = None,
    bounds: Bounds | None = None,
    known: tuple[Costs, FrameIds] | None = None,
) -> tuple[Costs, FrameIds, Frontier | None]:
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
    search = _engine(graph, narrow=bounds is not None)
    waiting = np.zeros(graph.num_frames, dtype=np.bool_)
    unsettled, least = search(frames, *asked, cost_to_go, successor)
    waiting[unsettled] = True
    left = frozen(np.flatnonzero(waiting))  # each once, in order
    mask[mask == -np.inf] = np.inf
    known = frozen(cost_to_go[left]), frozen(successor[left])
    ahead = Frontier(left, *known, least, bounds)
    cost_to_go[left], successor[left] = np.inf, NO_ROUTE
    return frozen(cost_to_go), frozen(successor), ahead if len(left) else None


def _engine(graph: FrameGraph, *, narrow: bool) -> _Settle:
    """Return the search of a graph: compiled, or in NumPy where Numba is missing."""
    _require_sound(graph)
    kernels = _kernels()
    if kernels is None:
        return partial(settle_narrow if narrow else settle, graph)
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
    from metro.kernels.search import buckets, narrow

    return buckets.settle, narrow.settle_narrow


_Edges = tuple[NDArray[Any], FrameIds, Costs]

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
