"""The graph of recorded frames: one frame forward, or a bridge to another episode."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.core.checks import check_bridges
from metro.core.latents import Latents, frozen
from metro.core.neighbours import (
    DEFAULT_NEIGHBOURS,
    NeighbourTable,
    find_neighbours,
    make_index,
    require_num_neighbours,
)
from metro.core.pricing import DEFAULT_QUANTILE, PricingCurve, check_fit
from metro.types import Costs, FrameIds, NeighbourIndex, Offsets, PartStore, Progress

TEMPORAL_COST = 1.0
"""What one step forward along an episode costs, in frames."""

DEFAULT_BUDGET = 8
"""H of a graph that is built without naming one, in frames."""


@dataclass(frozen=True, eq=False)
class FrameGraph:
    """Recorded frames joined by temporal edges and bridges. Never changed.

    Temporal edges need no storage: frame u leads to u + 1 inside an episode, for one
    frame. Bridges are symmetric and kept from both ends, so that a backward search
    reads them as they are.

    Paper: Sec. 5.1, Eq. 4.

    Attributes:
        latents: The vertices.
        table: The neighbours that the bridges were chosen from.
        pricing: Λ and κ, hence H and the radius.
        bridge_offsets: ``[N + 1]`` where the bridges of every frame start.
        bridge_frame: ``[2 B]`` the other end of each, ascending for every frame.
        bridge_cost: ``[2 B]`` its price in frames.
    """

    latents: Latents
    table: NeighbourTable
    pricing: PricingCurve
    bridge_offsets: Offsets
    bridge_frame: FrameIds
    bridge_cost: Costs

    @classmethod
    def from_latents(
        cls,
        latents: Latents,
        waypoint_budget: int = DEFAULT_BUDGET,
        *,
        num_neighbours: int = DEFAULT_NEIGHBOURS,
        quantile: float = DEFAULT_QUANTILE,
        progress: Progress | None = None,
        checkpoint: PartStore | None = None,
    ) -> "FrameGraph":
        """Return the graph of a corpus: its neighbours, its prices, its bridges.

        Args:
            latents: The corpus.
            waypoint_budget: H, in frames; below the longest episode.
            num_neighbours: k of the paper.
            quantile: α of the paper, in [0, 1].
            progress: Called with (done, total) frames whose neighbours are found.
            checkpoint: See `find_neighbours`.
        """
        # The table may take hours: a wrong H or α must not be found out after it.
        check_fit(latents, waypoint_budget, quantile)
        require_num_neighbours(num_neighbours)
        table = find_neighbours(
            latents, num_neighbours, progress=progress, checkpoint=checkpoint
        )
        pricing = PricingCurve.fit(latents, waypoint_budget, quantile)
        return build_graph(latents, table, pricing)

    @classmethod
    def from_corpus(
        cls,
        corpus: Any,
        model: Any,
        *,
        waypoint_budget: int = DEFAULT_BUDGET,
        cache: Any = None,
        **options: Any,
    ) -> "FrameGraph":
        """Return the graph of recorded episodes as a world model sees them.

        Args:
            corpus: Recorded episodes, as `metro.open_corpus` returns them.
            model: The world model that encodes them.
            waypoint_budget: H, in frames.
            cache: A ``.metro`` path that the graph is loaded from, or else saved to.
            options: Further options of ``corpus.build_graph``.
        """
        # The corpus knows how to read and encode itself; the core knows only arrays.
        graph: FrameGraph = corpus.build_graph(
            model, waypoint_budget=waypoint_budget, cache=cache, **options
        )
        return graph

    def __repr__(self) -> str:
        return (
            f"FrameGraph(num_frames={self.num_frames}, "
            f"num_bridges={self.num_bridges}, "
            f"num_neighbours={self.num_neighbours}, "
            f"waypoint_budget={self.waypoint_budget})"
        )

    @property
    def num_frames(self) -> int:
        """N, the number of vertices."""
        return self.latents.num_frames

    @property
    def num_bridges(self) -> int:
        """B, the number of undirected bridges."""
        return len(self.bridge_frame) // 2

    @property
    def num_neighbours(self) -> int:
        """k: how many frames a goal or an observation is linked to."""
        return self.table.num_neighbours

    @property
    def waypoint_budget(self) -> int:
        """H, in frames."""
        return self.pricing.waypoint_budget

    @cached_property
    def index(self) -> NeighbourIndex:
        """Answers which frames are nearest to a goal or an observation."""
        kept = self.table.index
        return make_index(self.latents) if kept is None else kept

    @cached_property
    def in_edges(self) -> tuple[NDArray[Any], FrameIds, Costs]:
        """The edges into every frame as the compiled search reads them, checked once.

        Gates ``[N + 1]``, then the other ends and the costs of the bridges ``[2 B]``. A
        gate is twice the offset of a frame's bridges, plus one if the frame before is
        of the same episode.
        """
        # Kernels do not check bounds: damaged arrays would crash the process.
        check_bridges(
            self.bridge_offsets,
            self.bridge_frame,
            self.bridge_cost,
            num_frames=self.num_frames,
            waypoint_budget=self.waypoint_budget,
        )
        gates = 2 * self.bridge_offsets + 1
        gates[self.latents.episode_offsets] -= 1
        # One read gives both facts, and 32 bits fit twice as many gates into the cache.
        kind = np.uint32 if gates[-1] < 2**32 else np.int64
        return (
            _packed(gates, kind),
            _packed(self.bridge_frame, np.int32),
            _packed(self.bridge_cost, np.float64),
        )

    def bridges(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Costs]:
        """Return (u, v, cost), each undirected bridge once, u < v, sorted."""
        u = np.repeat(np.arange(self.num_frames), np.diff(self.bridge_offsets))
        once = u < self.bridge_frame
        return u[once], self.bridge_frame[once].astype(np.int64), self.bridge_cost[once]

    def edge_cost(self, u: int, v: int) -> float:
        """Return what the edge from ``u`` to ``v`` costs, ``inf`` if there is none."""
        if v == u + 1 and self.latents.episode_of(u) == self.latents.episode_of(v):
            return TEMPORAL_COST
        start, stop = self.bridge_offsets[u : u + 2]
        found = start + np.searchsorted(self.bridge_frame[start:stop], v)
        is_bridge = found < stop and self.bridge_frame[found] == v
        return float(self.bridge_cost[found]) if is_bridge else np.inf

    def reachable_from(
        self, frames: NDArray[np.int64], *, held_out: int | None = None
    ) -> NDArray[np.bool_]:
        """Return ``[N]`` whether a route leads from any of ``frames`` to each frame."""
        held = slice(0) if held_out is None else self.latents.rows_of(held_out)
        reached = np.zeros(self.num_frames, dtype=np.bool_)
        reached[held] = True  # so that the search below never enters them
        is_last = np.zeros(self.num_frames, dtype=np.bool_)
        is_last[self.latents.episode_offsets[1:] - 1] = True
        front = frames
        while len(front):
            reached[front] = True
            following = front[~is_last[front]] + 1
            front = np.unique(np.concatenate([following, self._bridged_to(front)]))
            front = front[~reached[front]]
        reached[held] = False
        return reached

    def _bridged_to(self, frames: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the other ends of all bridges at ``frames``."""
        starts = self.bridge_offsets[frames]
        counts = self.bridge_offsets[frames + 1] - starts
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        picked = np.repeat(starts, counts) + within
        return np.asarray(self.bridge_frame[picked], dtype=np.int64)


def build_graph(
    latents: Latents, table: NeighbourTable, pricing: PricingCurve
) -> FrameGraph:
    """Return the graph whose bridges are priced for ``pricing``'s H.

    E_brg = {u ↔ v : v in kNN_k(u), m(v) ≠ m(u), ‖z_u − z_v‖₂ ≤ ε}; a bridge exists if
    either end retrieved the other, and costs κ of its gap. The same table serves
    every H.

    Paper: Sec. 5.1, Eq. 4, Eq. 5. Decision: D1.

    Args:
        latents: The corpus.
        table: Its neighbour table.
        pricing: Its curve, or that of a larger corpus of the same encoder.
    """
    table.require_corpus(latents)
    kept = table.gap <= pricing.radius
    kept &= table.frame >= 0
    rows, _ = np.nonzero(kept)
    others = table.frame[kept].astype(np.int64)
    # One number per pair of frames, so that both directions of a bridge coincide.
    ends = np.minimum(rows, others) * latents.num_frames + np.maximum(rows, others)
    ends, first = np.unique(ends, return_index=True)
    low, high = np.divmod(ends, latents.num_frames)
    cost = pricing.price(table.gap[kept][first])
    return FrameGraph(
        latents, table, pricing, *_both_directions(low, high, cost, latents.num_frames)
    )


def _both_directions(
    low: NDArray[np.int64], high: NDArray[np.int64], cost: Costs, num_frames: int
) -> tuple[Offsets, FrameIds, Costs]:
    u, v = np.concatenate([low, high]), np.concatenate([high, low])
    order = np.lexsort((v, u))
    counts = np.bincount(u, minlength=num_frames)
    offsets = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    frame = v[order].astype(np.int32)
    both = np.concatenate([cost, cost])[order]
    return frozen(offsets), frozen(frame), frozen(both)


def _packed(array: NDArray[Any], kind: type[np.generic]) -> NDArray[Any]:
    """Return a read-only contiguous view, so that one compiled kernel serves all."""
    return frozen(np.ascontiguousarray(array.astype(kind, copy=False)).view())
