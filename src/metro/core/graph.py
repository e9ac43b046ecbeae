"""The graph of recorded frames: one frame forward, or a bridge to another episode."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from metro.core.cell_index import CellIndex
from metro.core.latents import Latents
from metro.core.neighbours import NeighbourTable, make_index
from metro.core.pricing import PricingCurve
from metro.kernels import has_numba
from metro.types import Costs, FrameIds, NeighbourIndex, Offsets

TEMPORAL_COST = 1.0
"""Frames that riding an episode one step forward costs."""


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
        if kept is None or (isinstance(kept, CellIndex) and not has_numba()):
            return make_index(self.latents)
        return kept

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
    for array in (offsets, frame, both):
        array.setflags(write=False)
    return offsets, frame, both
