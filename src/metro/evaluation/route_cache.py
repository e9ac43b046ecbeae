"""One graph for many queries: priced for the present H, with landmarks and routes."""

import time
from collections.abc import Callable, Hashable
from dataclasses import replace
from typing import Any

from metro.core.graph import FrameGraph, build_graph
from metro.core.landmarks import Landmarks, choose_landmarks
from metro.core.planner import MetroPlanner
from metro.core.pricing import PricingCurve
from metro.core.search import Routes, find_routes
from metro.planners.lazy_reach import LazyReach
from metro.types import Vector


class QueryRoutes:
    """The graph of a context, and what queries of one waypoint budget share.

    Only the present waypoint budget H is kept: queries come sorted by H, and routes of
    thousands of queries would fill the memory.

    Args:
        graph: Its neighbour table serves every H.
        by_reach: Prices a graph by reach as it is; None: it never has to.
    """

    def __init__(
        self,
        graph: FrameGraph,
        by_reach: Callable[[FrameGraph], LazyReach] | None = None,
    ) -> None:
        self.graph = graph
        self._by_reach = by_reach
        self._lazy: LazyReach | None = None
        self._priced: FrameGraph | None = None
        self._landmarks: Landmarks | None = None
        self._routes: dict[Hashable, tuple[Routes, float]] = {}

    def priced(self, waypoint_budget: int, *, by_reach: bool = False) -> FrameGraph:
        """Return the graph priced for H, by gap or by reach; its α is kept."""
        wanted, present = (waypoint_budget, by_reach), self._priced
        if present is None or wanted != (present.waypoint_budget, present.is_directed):
            self._routes.clear()
            present = self._price(waypoint_budget, by_reach=by_reach)
            self._priced = present
        return present

    def _price(self, waypoint_budget: int, *, by_reach: bool) -> FrameGraph:
        self._lazy = None
        # Kernels are loaded and arrays read now, not on the first query's time.
        if by_reach and self.graph.reach is None and self._by_reach is not None:
            self._lazy = self._by_reach(reprice(self.graph, waypoint_budget))
            first, last = self.graph.latents.z[[0, -1]]
            MetroPlanner(self._lazy.find_routes(last, held_out=0, start=first))(first)
            return self._lazy.graph
        priced = reprice(self.graph, waypoint_budget, by_reach=by_reach)
        self._landmarks = warm_up(priced)
        return priced

    def routes(
        self,
        waypoint_budget: int,
        key: Hashable,
        ends: tuple[Vector, Vector],
        held_out: int | None,
        *,
        by_reach: bool = False,
    ) -> tuple[Routes, float]:
        """Return the routes to a goal and the seconds that the search took.

        Args:
            waypoint_budget: H, frames.
            key: The query; given again, nothing is searched.
            ends: Latents ``[D]`` of start and goal. The search stops once it is certain
                where to start; planners continue it where they must.
            held_out: The episode of the graph to leave out, or None.
            by_reach: Whether bridges are priced by reach; else by gap.
        """
        graph = self.priced(waypoint_budget, by_reach=by_reach)
        if key not in self._routes:
            start, goal = ends
            query: dict[str, Any] = {"held_out": held_out, "start": start}
            started = time.perf_counter()
            if self._lazy is not None:
                found: Routes = self._lazy.find_routes(goal, **query)
            else:
                found = find_routes(graph, goal, **query, landmarks=self._landmarks)
            self._routes[key] = found, time.perf_counter() - started
        return self._routes[key]

    def forget_routes(self) -> None:
        """Let go of all routes, so that the next search finds their memory.

        A search takes milliseconds; pages that were never used before cost as much.
        """
        self._routes.clear()


def reprice(
    graph: FrameGraph, waypoint_budget: int, *, by_reach: bool = False
) -> FrameGraph:
    """Return the graph of the same neighbours, k and α, for another H or pricing."""
    if (graph.waypoint_budget, graph.is_directed) == (waypoint_budget, by_reach):
        return graph
    latents, k = graph.latents, graph.num_neighbours
    pricing = PricingCurve.fit(latents, waypoint_budget, graph.pricing.quantile)
    if not by_reach:
        return build_graph(latents, graph.table.nearest(k), pricing)
    priced = build_graph(latents, graph.table, pricing, graph.reach, num_links=k)
    return replace(priced, measure=graph.measure)


def warm_up(graph: FrameGraph) -> Landmarks:
    """Return landmarks for many queries, and plan once as those do.

    Kernels are then compiled or loaded, and arrays are read.
    """
    first, landmarks = graph.latents.z[0], choose_landmarks(graph)
    query = {"held_out": 0, "start": first, "landmarks": landmarks}
    MetroPlanner(find_routes(graph, graph.latents.z[-1], **query))(first)
    return landmarks
