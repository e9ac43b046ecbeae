"""Reach measured only where routes lead: any graph can be priced by it as it is."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metro.core.entry import Entries, find_entries
from metro.core.graph import FrameGraph, edges_by_frame, price_jumps
from metro.core.landmarks import choose_landmarks
from metro.core.neighbours import DEFAULT_NEIGHBOURS
from metro.core.reach import MOST_CHARGED, ReachMeasure, ReachPricing, measure_rows
from metro.core.search import Routes, link_goals
from metro.types import CorpusLike, Costs, WorldModel

_FRAMES = 256
"""Frames measured at once."""


class LazyReach:
    """A graph priced by reach, measured frame by frame as routes need it.

    Its answers are those of the graph that `metro.build_graph` makes of the same
    neighbours, constants and measure: sub-goals, costs and routes from every
    observation that was asked for. A jump that is not measured yet costs as if it were
    within reach, which is never more than it will; a route that has only measured jumps
    is therefore the cheapest. What is measured is kept for all later goals. Threads may
    share it; they take turns.

    Decision: D40.

    Args:
        graph: Priced in any way; its neighbours and H are kept.
        reach: What jumps are charged.
        measure: The world model's reach.
        num_links: k, the cheapest bridges that every frame keeps of its neighbours.
    """

    def __init__(
        self,
        graph: FrameGraph,
        reach: ReachPricing,
        measure: ReachMeasure,
        *,
        num_links: int = DEFAULT_NEIGHBOURS,
    ) -> None:
        self._reach, self._reach_of_model, self._num_links = reach, measure, num_links
        table, pricing = graph.table, graph.pricing
        within = (table.frame >= 0) & (table.gap <= pricing.radius)
        start, _ = np.nonzero(within)
        end, price = table.frame[within], pricing.price(table.gap[within])
        numbers = np.arange(len(end), dtype=np.float64)
        offsets, frame, order = edges_by_frame(end, start, numbers, graph.num_frames)
        order = order.astype(np.int64)
        price = price[order]
        # Where every neighbour's cost is; those beyond the radius share the last place.
        self._places = np.full(table.frame.shape, len(end), dtype=np.int64)
        places = np.empty(len(end), dtype=np.int64)
        places[order] = np.arange(len(end))
        self._places[within] = places
        least = price + reach.charge(np.zeros(1))
        self._costs = np.append(least, np.inf)
        self.is_measured = np.zeros(graph.num_frames, dtype=np.bool_)
        self.lock = RLock()
        optimistic = FrameGraph(
            *(graph.latents, table, pricing, offsets, frame, least, price),
            *(reach, num_links, measure),
        )
        values = _values(optimistic) | {"bridge_cost": self._costs[:-1]}
        self.graph: FrameGraph = _LazyGraph(**values, lazy=self)
        # Costs only rise: what bounds them now bounds them for ever.
        self._landmarks = replace(choose_landmarks(optimistic), graph=self.graph)

    @classmethod
    def from_corpus(
        cls,
        graph: FrameGraph,
        corpus: CorpusLike,
        model: WorldModel,
        *,
        num_links: int = DEFAULT_NEIGHBOURS,
    ) -> "LazyReach":
        """Return a graph by its model's reach, the constants fitted to its corpus.

        Args:
            graph: The graph of the corpus, priced by gap.
            corpus: The recording, for its actions.
            model: The world model that the graph's latents are from.
            num_links: k.
        """
        # Here and not above: searching needs no torch.
        from metro.data.reach_graph import fit_corpus_reach
        from metro.models.adapter import as_world_model
        from metro.models.reach_measure import ModelReach

        known = as_world_model(model)
        quantile = graph.pricing.quantile
        reach = fit_corpus_reach(graph.latents, corpus, known, quantile=quantile)
        measure = ModelReach(known, reach.noise)
        return cls(graph, reach, measure, num_links=num_links)

    def find_routes(
        self,
        goal: ArrayLike | Sequence[ArrayLike],
        *,
        held_out: int | None = None,
        start: ArrayLike | None = None,
    ) -> "LazyRoutes":
        """Return the cheapest routes to ``goal``, as `metro.find_routes` does.

        Args:
            goal: ``[D]`` the latent to reach, or ``[G, D]``, any of several.
            held_out: An episode to leave out, or None.
            start: ``[D]`` an observation whose route is to be measured now; planners
                ask for those of other observations. None: only when they ask.
        """
        unsearched = link_goals(
            self.graph, goal, held_out=held_out, landmarks=self._landmarks
        )
        routes = LazyRoutes(**_values(unsearched), lazy=self, unsearched=unsearched)
        if start is None:
            return routes
        observed = self.graph.latents.require_vector("start", start)
        (entries,) = find_entries(self.graph, [observed], held_out=routes.held_out)
        return routes.until_certain(entries)

    def measure(self, frames: NDArray[np.int64]) -> None:
        """Measure all jumps of frames that are not measured, and settle their costs."""
        frames = np.unique(frames[~self.is_measured[frames]])
        # In pieces: the model predicts many latents from every frame.
        for first in range(0, len(frames), _FRAMES):
            self._measure(frames[first : first + _FRAMES])

    def _measure(self, frames: NDArray[np.int64]) -> None:
        latents, table = self.graph.latents, self.graph.table
        distances = measure_rows(latents, table.frame, self._reach_of_model, frames)
        row = (latents, table.frame[frames], table.gap[frames], distances)
        _, costs = price_jumps(*row, self.graph.pricing, self._reach, self._num_links)
        # A jump that is not kept costs inf, which no search ever takes.
        self._costs[self._places[frames]] = costs
        self._costs[-1] = np.inf
        self.is_measured[frames] = True

    def costs_of_jumps(self, frames: NDArray[Any]) -> Costs:
        """Return what the jumps ``[B, K]`` of frames cost as far as is known."""
        costs: Costs = self._costs[self._places[frames]]
        return costs


@dataclass(frozen=True, eq=False)
class _LazyGraph(FrameGraph):
    """The graph as it is known: unmeasured jumps cost least, dropped ones inf."""

    lazy: Any = field(default=None, repr=False)

    @property
    def largest_cost(self) -> float:  # type: ignore[override]
        """The most that an edge may cost once it is measured, in frames."""
        return self.waypoint_budget + MOST_CHARGED

    def _bridged_to(self, frames: NDArray[np.int64]) -> NDArray[np.int64]:
        self.lazy.measure(frames)
        kept = np.isfinite(self.lazy.costs_of_jumps(frames))
        return np.asarray(self.table.frame[frames][kept], dtype=np.int64)


@dataclass(frozen=True, eq=False)
class LazyRoutes(Routes):
    """Routes that are measured as far as they are asked for.

    Attributes:
        lazy: What measures.
        unsearched: The links to the goal, from which every search begins.
    """

    lazy: Any = field(default=None, repr=False)
    unsearched: Any = field(default=None, repr=False)

    def until_certain(self, entries: Entries) -> "LazyRoutes":
        """Return routes whose path from the cheapest of the entries is measured."""
        with self.lazy.lock:
            found = self if self._still_holds(entries) else self._search_again(entries)
            while len(frames := found._unmeasured(entries)):
                self.lazy.measure(frames)
                found = self._search_again(entries)
            return found

    def complete(self) -> "LazyRoutes":
        """Return the routes of all frames, every jump of the graph being measured."""
        with self.lazy.lock:
            self.lazy.measure(np.arange(self.graph.num_frames))
            return self._with(self.unsearched.complete())

    def _search_again(self, entries: Entries) -> "LazyRoutes":
        return self._with(self.unsearched.until_certain(entries))

    def _with(self, routes: Routes) -> "LazyRoutes":
        kept = {"lazy": self.lazy, "unsearched": self.unsearched}
        return LazyRoutes(**_values(routes), **kept)

    def _still_holds(self, entries: Entries) -> bool:
        """Return whether the path from the entries is known and costs what it did."""
        rest = self._unfinished
        if rest is not None and not rest.decides(entries, self.cost_to_go):
            return False
        for here, following, is_jump in self._paths(entries)[:1]:
            costs = np.ones(len(here))
            near = self.graph.table.frame[here[is_jump]] == following[is_jump, None]
            costs[is_jump] = self.lazy.costs_of_jumps(here[is_jump])[near]
            due = self.cost_to_go[following] + costs
            return np.array_equal(self.cost_to_go[here], due)
        return True

    def _unmeasured(self, entries: Entries) -> NDArray[np.int64]:
        """Return the frames to measure next; none if the cheapest path is measured.

        Those where the paths from all entries jump: once the cheapest turns out dear,
        another is likely to be taken. Decision: D40.
        """
        jumping = [here[is_jump] for here, _, is_jump in self._paths(entries)]
        if not jumping or self.lazy.is_measured[jumping[0]].all():
            return np.empty(0, dtype=np.int64)
        return np.concatenate(jumping)

    def _paths(self, entries: Entries) -> list[tuple[NDArray[Any], ...]]:
        """Return the paths from the entries, that of the cheapest entry first.

        Of each the frames, those that follow them, and from which it jumps.
        """
        totals = entries.costs + self.cost_to_go[entries.frames]
        order = np.lexsort((entries.frames, totals))
        known = order[np.isfinite(totals[order])]
        episodes = self.graph.latents.episode_of
        found: list[tuple[NDArray[Any], ...]] = []
        for first in entries.frames[known]:
            path = np.array(self.route(int(first)), dtype=np.int64)
            here, following = path[:-1], path[1:]
            found.append((here, following, episodes(here) != episodes(following)))
        return found


def _values(instance: Any) -> dict[str, Any]:
    """Return the attributes of a dataclass by name."""
    return {one.name: getattr(instance, one.name) for one in fields(instance)}
