"""One graph for many queries: priced for the present H, with landmarks and routes."""

import time
from collections.abc import Hashable

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
        self._graph = graph
        self._priced: FrameGraph | None = None
        self._landmarks: Landmarks | None = None
        self._routes: dict[Hashable, tuple[Routes, float]] = {}

    def priced(self, waypoint_budget: int) -> FrameGraph:
        """Return the graph priced for H; its quantile α is kept."""
        if self._priced is None or self._priced.waypoint_budget != waypoint_budget:
            self._routes.clear()
            self._priced = self._graph
            if self._graph.waypoint_budget != waypoint_budget:
                latents, table = self._graph.latents, self._graph.table
                pricing = PricingCurve.fit(
                    latents, waypoint_budget, quantile=self._graph.pricing.quantile
                )
                self._priced = build_graph(latents, table, pricing)
            # Kernels are loaded and arrays read now, not on the first query's time.
            self._landmarks = warm_up(self._priced)
        return self._priced

    def routes(
        self,
        waypoint_budget: int,
        key: Hashable,
        ends: tuple[Vector, Vector],
        held_out: int | None,
    ) -> tuple[Routes, float]:
        """Return the routes to a goal and the seconds that the search took.

        Args:
            waypoint_budget: H, frames.
            key: The query; given again, nothing is searched.
            ends: Latents ``[D]`` of start and goal. The search stops once it is certain
                where to start; planners continue it where they must.
            held_out: The episode of the graph to leave out, or None.
        """
        graph = self.priced(waypoint_budget)
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


def warm_up(graph: FrameGraph) -> Landmarks:
    """Return landmarks for many queries, and plan once as those do.

    Kernels are then compiled or loaded, and arrays are read.
    """
    first, landmarks = graph.latents.z[0], choose_landmarks(graph)
    query = {"held_out": 0, "start": first, "landmarks": landmarks}
    MetroPlanner(find_routes(graph, graph.latents.z[-1], **query))(first)
    return landmarks
