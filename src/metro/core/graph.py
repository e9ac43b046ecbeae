"""The graph of recorded frames: one frame forward, or a bridge to another episode."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.core.latents import Latents, frozen
from metro.core.neighbours import (
    DEFAULT_NEIGHBOURS,
    NeighbourTable,
    find_neighbours,
    make_index,
    require_num_neighbours,
)
from metro.core.pricing import DEFAULT_QUANTILE, PricingCurve, check_fit
from metro.core.reach import MOST_CHARGED, ReachDistances, ReachMeasure, ReachPricing
from metro.errors import GraphError
from metro.kernels.checks import check_bridges, check_within
from metro.kernels.neighbours.cheapest import cheapest_per_episode
from metro.types import Costs, FrameIds, NeighbourIndex, Offsets, PartStore, Progress

TEMPORAL_COST = 1.0
"""What one step forward along an episode costs, in frames."""

DEFAULT_BUDGET = 8
"""H of a graph that is built without naming one, in frames."""


@dataclass(frozen=True, eq=False)
class FrameGraph:
    """Recorded frames joined by temporal edges and bridges. Never changed.

    Temporal edges need no storage: frame u leads to u + 1 inside an episode, for one
    frame. Bridges are kept at the frame where they end, as a backward search reads
    them. Priced by gap they are symmetric; priced by reach each has a direction, and
    the search charges more than the frames that a walk counts.

    Paper: Sec. 5.1, Eq. 4. Decision: D36, D37.

    Attributes:
        latents: The vertices.
        table: The neighbours that the bridges were chosen from.
        pricing: Λ and κ, hence H and the radius.
        bridge_offsets: ``[N + 1]`` where the bridges into every frame start.
        bridge_frame: ``[E]`` where each comes from, ascending for every frame.
        bridge_cost: ``[E]`` what the search charges for it, in frames.
        bridge_price: ``[E]`` its price in frames; None: the cost itself, unless reach
            or a failed try (D39) is charged beyond it.
        reach: What jumps are charged beyond their price; None: priced by gap.
        num_links: k, how many of the table's neighbours a frame keeps; None: all.
        measure: The reach of the world model, which goals and observations are linked
            with; None: not attached.
    """

    latents: Latents
    table: NeighbourTable
    pricing: PricingCurve
    bridge_offsets: Offsets
    bridge_frame: FrameIds
    bridge_cost: Costs
    bridge_price: Costs | None = None
    reach: ReachPricing | None = None
    num_links: int | None = None
    measure: ReachMeasure | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        self.table.require_frames(self.num_frames)
        # Kernels do not check bounds: damaged arrays would crash the process.
        check_bridges(
            self.bridge_offsets,
            self.bridge_frame,
            self.bridge_cost,
            num_frames=self.num_frames,
            most=self.waypoint_budget
            + (0 if self.bridge_price is None else MOST_CHARGED),
        )
        if self.bridge_price is None and self.reach is not None:
            raise GraphError("A graph with reach has prices beside its costs.")
        if self.bridge_price is not None:
            check_within("bridge_price", self.bridge_price, 1, self.waypoint_budget)

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
        """B, the number of bridges; those of two directions count once."""
        return len(self.bridge_frame) // (1 if self.is_directed else 2)

    @property
    def is_directed(self) -> bool:
        """Whether bridges have directions: they are priced by reach."""
        return self.reach is not None

    @property
    def num_neighbours(self) -> int:
        """k: how many frames a goal or an observation is linked to."""
        return self.num_links or self.table.num_neighbours

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
        """The edges into every frame as the compiled search reads them.

        Gates ``[N + 1]``, then the other ends and the costs of the bridges ``[2 B]``. A
        gate is twice the offset of a frame's bridges, plus one if the frame before is
        of the same episode.
        """
        gates = 2 * self.bridge_offsets.astype(np.int64) + 1
        gates[self.latents.episode_offsets] -= 1
        # One read gives both facts, and 32 bits fit twice as many gates into the cache.
        kind = np.uint32 if gates[-1] < 2**32 else np.int64
        return (
            _packed(gates, kind),
            _packed(self.bridge_frame, np.int32),
            _packed(self.bridge_cost, np.float64),
        )

    @cached_property
    def largest_cost(self) -> float:
        """The most that an edge may cost, in frames."""
        return float(np.max(self.bridge_cost, initial=self.waypoint_budget))

    @cached_property
    def out_bridges(self) -> tuple[Offsets, FrameIds, Costs]:
        """Bridges by the frame where they start: offsets, other ends, costs."""
        if not self.is_directed:
            return self.bridge_offsets, self.bridge_frame, self.bridge_cost
        end = np.repeat(np.arange(self.num_frames), np.diff(self.bridge_offsets))
        return edges_by_frame(self.bridge_frame, end, self.bridge_cost, self.num_frames)

    def bridges(self) -> tuple[NDArray[np.int64], NDArray[np.int64], Costs]:
        """Return (u, v, cost) of bridges u → v, sorted; symmetric ones once, u < v."""
        offsets, frame, cost = self.out_bridges
        u = np.repeat(np.arange(self.num_frames), np.diff(offsets))
        once = slice(None) if self.is_directed else u < frame
        return u[once], frame[once].astype(np.int64), cost[once]

    def edge_cost(self, u: int, v: int) -> float:
        """Return what the edge from ``u`` to ``v`` costs, ``inf`` if there is none."""
        return self._edge(u, v, self.bridge_cost)

    def edge_price(self, u: int, v: int) -> float:
        """Return the frames that a walk counts from ``u`` to ``v``."""
        prices = self.bridge_cost if self.bridge_price is None else self.bridge_price
        return self._edge(u, v, prices)

    def _edge(self, u: int, v: int, values: Costs) -> float:
        if v == u + 1 and self.latents.episode_of(u) == self.latents.episode_of(v):
            return TEMPORAL_COST
        start, stop = self.bridge_offsets[v : v + 2]
        found = start + np.searchsorted(self.bridge_frame[start:stop], u)
        is_bridge = found < stop and self.bridge_frame[found] == u
        return float(values[found]) if is_bridge else np.inf

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
        """Return where all bridges from ``frames`` lead."""
        offsets, frame, _ = self.out_bridges
        starts = offsets[frames]
        counts = offsets[frames + 1] - starts
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        picked = np.repeat(starts, counts) + within
        return np.asarray(frame[picked], dtype=np.int64)


def build_graph(
    latents: Latents,
    table: NeighbourTable,
    pricing: PricingCurve,
    reach: ReachPricing | None = None,
    *,
    num_links: int = DEFAULT_NEIGHBOURS,
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
        reach: Charges jumps by the table's reach distances too; None: by gap alone,
            as the paper does. Decision: D37.
        num_links: k of a graph priced by reach: the cheapest of the table's neighbours
            are kept, at most one of each episode.
    """
    table.require_corpus(latents)
    if reach is not None:
        return _build_directed(latents, table, pricing, reach, num_links)
    kept = table.gap <= pricing.radius
    kept &= table.frame >= 0
    rows, _ = np.nonzero(kept)
    others = table.frame[kept].astype(np.int64)
    # One number per pair of frames, so that both directions of a bridge coincide.
    ends = np.minimum(rows, others) * latents.num_frames + np.maximum(rows, others)
    ends, first = np.unique(ends, return_index=True)
    low, high = np.divmod(ends, latents.num_frames)
    cost = pricing.price(table.gap[kept][first])
    u, v = np.concatenate([low, high]), np.concatenate([high, low])
    bridges = edges_by_frame(u, v, np.concatenate([cost, cost]), latents.num_frames)
    return FrameGraph(latents, table, pricing, *bridges)


def _build_directed(
    latents: Latents,
    table: NeighbourTable,
    pricing: PricingCurve,
    reach: ReachPricing,
    num_links: int,
) -> FrameGraph:
    """Return the graph in which every frame keeps its k cheapest bridges."""
    if table.reach is None:
        raise GraphError("The neighbour table has no reach distances: measure_table.")
    require_num_neighbours(num_links)
    price, cost = price_jumps(
        latents, table.frame, table.gap, table.reach, pricing, reach, num_links
    )
    kept = np.isfinite(cost)
    start, _ = np.nonzero(kept)
    end, price, cost = table.frame[kept], price[kept], cost[kept]
    offsets, frame, costs = edges_by_frame(end, start, cost, latents.num_frames)
    prices = edges_by_frame(end, start, price, latents.num_frames)[2]
    bridges = (offsets, frame, costs, prices)
    return FrameGraph(latents, table, pricing, *bridges, reach, num_links)


def price_jumps(  # noqa: PLR0913
    latents: Latents,
    frame: FrameIds,
    gap: NDArray[Any],
    distances: ReachDistances,
    pricing: PricingCurve,
    reach: ReachPricing,
    num_links: int,
) -> tuple[Costs, Costs]:
    """Return the prices and costs ``[B, K]`` of rows of a table; ``inf``: not kept.

    Decision: D37.
    """
    within = (gap <= pricing.radius) & (frame >= 0)
    price = pricing.price(np.where(within, gap, 0.0))
    cost = np.where(within, price + reach.charge(distances), np.inf)
    episodes = latents.episode_of(np.maximum(frame, 0))
    kept = cheapest_per_episode(cost, episodes, frame, num_links)
    return price, np.where(kept, cost, np.inf)


def edges_by_frame(
    frames: NDArray[Any], others: NDArray[Any], values: Costs, num_frames: int
) -> tuple[Offsets, FrameIds, Costs]:
    """Return offsets, other ends and values of edges, sorted by frame, then end."""
    order = np.lexsort((others, frames))
    counts = np.bincount(frames, minlength=num_frames)
    offsets = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
    ends = others[order].astype(np.int32)
    return frozen(offsets), frozen(ends), frozen(values[order])


def _packed(array: NDArray[Any], kind: type[np.generic]) -> NDArray[Any]:
    """Return a read-only contiguous view, so that one compiled kernel serves all."""
    return frozen(np.ascontiguousarray(array.astype(kind, copy=False)).view())
