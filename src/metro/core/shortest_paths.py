"""Dijkstra's algorithm backwards over a graph, which can stop early and be resumed."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.core.entry import Entries, no_entries
from metro.core.graph import FrameGraph
from metro.core.latents import frozen
from metro.kernels.search import SLACK
from metro.types import Costs, FrameIds

AT_GOAL = -1
"""Successor of a frame whose next hop is the goal itself."""

NO_ROUTE = -2
"""Successor of a frame that cannot reach the goal."""

SHARE = 0.999
"""The part of a bound that is used. Along an edge of cost w a whole bound changes by at
most w, and float32 is off by at most 2.5e-4 frames below `landmarks.LARGEST`. An edge
costs at least one frame, so the omitted thousandth exceeds the rounding of both ends,
and J + bound never falls along the search."""


@dataclass(frozen=True, eq=False)
class Bounds:
    """Lower bounds on the frames from an observation to every frame, by landmarks.

    With bounds, frames are settled by J(u) + bound(u) instead of J(u): first those
    between the goal and the observation, instead of all that are as near to the goal.
    J and succ of what is settled are the same bits.

    A frame u that is ``costs[u, l]`` from landmark l is at least
    ``reach[l] - costs[u, l]`` from an observation that is ``reach[l]`` from it.

    Attributes:
        costs: ``[N, L]`` float32, frames from every frame to each landmark.
        reach: ``[L]`` float64, frames from the observation to each landmark.
    """

    costs: NDArray[np.float32]
    reach: Costs

    @property
    def arrays(self) -> tuple[NDArray[np.float32], Costs, float]:
        """What the kernel takes: costs, reach, share.

        Compiled kernels are cached on disk, where a changed global constant goes
        unnoticed. So the share is an argument.
        """
        return self.costs, self.reach, SHARE

    def of(self, frames: NDArray[Any]) -> Costs:
        """Return the bounds of frames ``[n]``; 0 without landmarks."""
        if len(self.reach) == 0:
            return np.zeros(len(frames))
        short = self.reach - self.costs[frames].astype(np.float64)
        bounds: Costs = SHARE * short.max(axis=1, initial=0.0)
        return bounds


def no_bounds() -> Bounds:
    """Return bounds of 0 for every frame: frames are settled by J alone."""
    # Read-only like the arrays of landmarks, so that one compiled kernel serves both.
    costs = np.empty((0, 0), dtype=np.float32)
    return Bounds(frozen(costs), frozen(np.empty(0)))


@dataclass(frozen=True, eq=False)
class Frontier:
    """Frames that a search starts or resumes from: reached, but not settled.

    Attributes:
        frames: ``[F]`` int64, each once.
        costs: ``[F]`` an upper bound on their J, in frames.
        successors: ``[F]`` where they would go next.
        least: A lower bound on J + bound of every frame that is not settled, in frames.
        bounds: The bounds that the search was last kept narrow by, or None.
    """

    frames: NDArray[np.int64]
    costs: Costs
    successors: FrameIds
    least: float = 0.0
    bounds: Bounds | None = None

    @classmethod
    def of_goal(cls, frames: NDArray[np.int64], costs: Costs) -> "Frontier":
        """Return the start of a search: the frames linked to the goal, and the cost."""
        successors = np.full(len(frames), AT_GOAL, dtype=np.int32)
        return cls(frozen(frames), frozen(costs), frozen(successors))

    @classmethod
    def of_frame(cls, frame: int) -> "Frontier":
        """Return the start of a search whose goal is a recorded frame."""
        return cls.of_goal(np.array([frame], dtype=np.int64), np.zeros(1))

    def decides(self, entries: Entries, cost_to_go: Costs) -> bool:
        """Return whether the cheapest entry is certain without searching further.

        The bounds are those of the observation that was last searched for. They mostly
        suffice for the observations that follow on the same route.
        """
        costs = cost_to_go[entries.frames]
        bounds = (self.bounds or no_bounds()).of(entries.frames)
        # An earlier search may have settled a frame that the latest bounds put beyond
        # the frontier; its cost is final all the same.
        bounds[np.isfinite(costs)] = -np.inf
        return is_certain(costs, entries.costs, bounds, self.least)


@dataclass(frozen=True, eq=False)
class ShortestPaths:
    """The result of one search.

    Attributes:
        cost_to_go: ``[N]`` J(u) in frames; ``inf`` where nothing is settled.
        successor: ``[N]`` succ(u): a frame, `AT_GOAL` or `NO_ROUTE`.
        frontier: Where to resume a search that stopped early; None: it is complete.
    """

    cost_to_go: Costs
    successor: FrameIds
    frontier: Frontier | None


def search_backwards(
    graph: FrameGraph,
    frontier: Frontier,
    *,
    held_out: int | None = None,
    entries: Entries | None = None,
    bounds: Bounds | None = None,
    earlier: ShortestPaths | None = None,
) -> ShortestPaths:
    """Return the cheapest paths from every frame to the goal behind ``frontier``.

    Args:
        graph: The graph.
        frontier: Where to start or to resume.
        held_out: The episode to leave out, or None.
        entries: Stop as soon as the cheapest of them is certain; None: search all.
        bounds: Keeps the search narrow. None: settle by J alone.
        earlier: The search that ``frontier`` resumes; None: a new search.
    """
    if earlier is None:
        cost_to_go = np.full(graph.num_frames, np.inf)
        successor = np.full(graph.num_frames, NO_ROUTE, dtype=np.int32)
    else:
        cost_to_go, successor = earlier.cost_to_go.copy(), earlier.successor.copy()
    cost_to_go[frontier.frames] = frontier.costs
    successor[frontier.frames] = frontier.successors
    closed = _unreached_frames(graph, held_out, cost_to_go)
    # The kernel enters a frame only with a lower cost, and nothing is below -inf.
    cost_to_go[closed] = -np.inf
    unsettled, least = _settle(
        graph, frontier.frames, entries or no_entries(), bounds, cost_to_go, successor
    )
    cost_to_go[closed] = np.inf
    left = _ascending(unsettled, graph.num_frames)
    rest = Frontier(
        left, frozen(cost_to_go[left]), frozen(successor[left]), least, bounds
    )
    # What is not settled may still get cheaper: callers must not see it as a route.
    cost_to_go[left] = np.inf
    successor[left] = NO_ROUTE
    return ShortestPaths(
        frozen(cost_to_go), frozen(successor), rest if len(left) else None
    )


def is_certain(costs: Costs, prices: Costs, bounds: Costs, least: float) -> bool:
    """Return whether it is known which of several frames has the least price + J.

    Args:
        costs: ``[n]`` J of the frames, or more where it is not settled.
        prices: ``[n]`` what entering them costs.
        bounds: ``[n]`` their bounds.
        least: What J + bound is at least where J is not settled.
    """
    unknown = costs + bounds >= least
    if not unknown.any():
        return True
    best = (prices + costs)[~unknown].min(initial=np.inf)
    others = (prices + (least - bounds))[unknown].min()
    return bool(best + SLACK < others)


def _unreached_frames(
    graph: FrameGraph, held_out: int | None, cost_to_go: Costs
) -> NDArray[np.int64]:
    """Return the frames of the held-out episode, save those the search starts from."""
    if held_out is None:
        return np.empty(0, dtype=np.int64)
    rows = graph.latents.rows_of(held_out)
    return np.flatnonzero(cost_to_go[rows] == np.inf) + np.int64(rows.start)


def _settle(
    graph: FrameGraph,
    frames: NDArray[np.int64],
    entries: Entries,
    bounds: Bounds | None,
    cost_to_go: Costs,
    successor: FrameIds,
) -> tuple[NDArray[np.int64], float]:
    """Run a compiled search on ``cost_to_go`` and ``successor``, in place.

    Returns:
        The frames left unsettled, in any order, and their least J + bound.
    """
    from metro.kernels.search import buckets, narrow

    # A bucket more than the dearest edge, and than the costs of the seeds differ by.
    apart = np.ptp(cost_to_go[frames]) if bounds is None and len(frames) else 0.0
    ring = 1 << int(np.ceil(max(graph.largest_cost, apart)) + 1).bit_length()
    asked = (frames, frozen(entries.frames), frozen(entries.costs))
    if bounds is None:
        found = buckets.settle(graph.in_edges, ring, *asked, cost_to_go, successor)
    else:
        found = narrow.settle_narrow(
            graph.in_edges, ring, *asked, bounds.arrays, cost_to_go, successor
        )
    unsettled, least = found
    return unsettled, least


def _ascending(frames: NDArray[np.int64], num_frames: int) -> NDArray[np.int64]:
    """Return the frames in order, each once."""
    # A mask, because sorting a frontier of a million frames takes longer.
    mask = np.zeros(num_frames, dtype=np.bool_)
    mask[frames] = True
    return frozen(np.flatnonzero(mask))
