"""One graph for many queries: priced for the present H, with landmarks and routes."""

import time
from collections.abc import Hashable
from dataclasses import replace

from metro.core.graph import FrameGraph, build_graph
from metro.core.landmarks import Landmarks, choose_landmarks
from metro.core.planner import MetroPlanner
from metro.core.pricing import PricingCurve
from metro.core.search import Routes, find_routes
from metro.types import Vector


class QueryRoutes:
    """The graph of a context, and what queries of one waypoint budget share.

    Only the present waypoint budget H is kept: queries come sorted by H, and routes of
    thousands of queries would fill the memory.

    Args:
        graph: Its neighbour table serves every H.
    """

    def __init__(self, graph: FrameGraph) -> None:
        self.graph = graph
        self._priced: FrameGraph | None = None
        self._landmarks: Landmarks | None = None
        self._routes: dict[Hashable, tuple[Routes, float]] = {}

    def priced(self, waypoint_budget: int, *, by_reach: bool = False) -> FrameGraph:
        """Return the graph priced for H, by gap or by reach; its α is kept."""
        wanted, present = (waypoint_budget, by_reach), self._priced
        if present is None or wanted != (present.waypoint_budget, present.is_directed):
            self._routes.clear()
            present = reprice(self.graph, waypoint_budget, by_reach=by_reach)
            # Kernels are loaded and arrays read now, not on the first query's time.
            self._landmarks = warm_up(present)
            self._priced = present
        return present

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
            started = time.perf_counter()
            found = find_routes(
                graph, goal, held_out=held_out, start=start, landmarks=self._landmarks
            )
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
