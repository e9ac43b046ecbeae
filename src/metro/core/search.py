"""The backward search: from a goal, the cheapest route from every frame."""

import os
import warnings
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metro.core.entry import Entries, charge_jumps, find_candidates, find_entries
from metro.core.graph import FrameGraph
from metro.core.landmarks import Landmarks
from metro.core.latents import frozen, is_integer
from metro.core.neighbours import NO_FRAME
from metro.core.shortest_paths import (
    AT_GOAL,
    NO_ROUTE,
    Bounds,
    Frontier,
    ShortestPaths,
    no_bounds,
    search_backwards,
)
from metro.errors import GraphError
from metro.kernels.neighbours.cheapest import cheapest_per_episode
from metro.types import Costs, FrameIds, Progress, Vector


@dataclass(frozen=True, eq=False)
class Routes:
    """The cost-to-go of every frame and where to go next, for one goal or several.

    A search with a ``start`` is not complete: frames that it had not settled when it
    stopped have cost ``inf`` and no route until the search is resumed.

    Paper: Eq. 6.

    Attributes:
        graph: The graph that was searched.
        goals: The latents ``[D]`` to reach, any of them; mostly there is only one.
        held_out: The episode that was left out, or None.
        cost_to_go: ``[N]`` J(u) in frames; ``inf``: no route.
        successor: ``[N]`` succ(u): a frame, `AT_GOAL` or `NO_ROUTE`.
        arrivals: For frames that are linked to a goal, the number of that goal.
        link_prices: For the same frames, the frames from there to the goal.
        links: The same frames once more, with what the search charges for the link.
        landmarks: What kept the search narrow; None: nothing did.
    """

    graph: FrameGraph
    goals: tuple[Vector, ...]
    held_out: int | None
    cost_to_go: Costs
    successor: FrameIds
    arrivals: Mapping[int, int] = field(repr=False)
    link_prices: Mapping[int, float] = field(repr=False)
    links: Frontier = field(repr=False)
    landmarks: Landmarks | None = field(default=None, repr=False)
    _unfinished: Frontier | None = field(default=None, repr=False)

    @property
    def goal(self) -> Vector:
        """``[D]`` the first goal, its values untouched."""
        return self.goals[0]

    def goal_after(self, frame: int) -> Vector:
        """Return the goal that a route arrives at whose last frame is ``frame``."""
        return self.goals[self.arrivals[frame]]

    @property
    def is_complete(self) -> bool:
        """Whether every frame that has a route is settled."""
        return self._unfinished is None

    def complete(self) -> "Routes":
        """Return the routes of all frames, resuming a search that stopped early."""
        return self if self._unfinished is None else self._resumed(self._unfinished)

    def until_certain(self, entries: Entries) -> "Routes":
        """Return routes that are certain which of the entries is cheapest."""
        rest = self._unfinished
        if rest is None or rest.decides(entries, self.cost_to_go):
            return self
        return self._resumed(rest, entries)

    def at_raised_costs(
        self, graph: FrameGraph, links: Frontier, entries: Entries
    ) -> "Routes":
        """Return the routes to the same goals if some jumps cost more.

        Landmarks stay: what bounds the costs from below bounds higher ones too.

        Args:
            graph: The same graph; some of its bridges cost more.
            links: The same links; some of them cost more.
            entries: The search may stop when it is certain which of them is cheapest.
        """
        raised = replace(self, graph=graph, links=links)
        return raised._searched(links, entries)

    def _resumed(self, rest: Frontier, entries: Entries | None = None) -> "Routes":
        earlier = ShortestPaths(self.cost_to_go, self.successor, rest)
        return self._searched(rest, entries, earlier)

    def _searched(
        self,
        frontier: Frontier,
        entries: Entries | None,
        earlier: ShortestPaths | None = None,
    ) -> "Routes":
        found = search_backwards(
            self.graph,
            frontier,
            held_out=self.held_out,
            entries=entries,
            bounds=_bounds(self.landmarks, entries),
            earlier=earlier,
        )
        return replace(
            self,
            cost_to_go=found.cost_to_go,
            successor=found.successor,
            _unfinished=found.frontier,
        )

    def route(self, frame: int) -> list[int]:
        """Return the frames from ``frame`` to the last one before the goal.

        Empty if there is no route.
        """
        frame = self.graph.latents.require_frame("frame", frame)
        path: list[int] = []
        while frame not in (AT_GOAL, NO_ROUTE):
            path.append(frame)
            frame = int(self.successor[frame])
        return path if frame == AT_GOAL else []


def find_routes(
    graph: FrameGraph,
    goal: ArrayLike | Sequence[ArrayLike],
    *,
    held_out: int | None = None,
    start: ArrayLike | None = None,
    landmarks: Landmarks | None = None,
) -> Routes:
    """Return the cheapest route to ``goal`` from every frame.

    J(u) = min over paths u ⇝ g of Σ w(e); succ(u) = argmin_v [w(u → v) + J(v)]. The
    goal becomes the seeds of the search: its k nearest frames outside ``held_out``
    that lie within the radius. The graph itself is neither copied nor changed.

    Paper: Eq. 6, Alg. 1. Decision: D4, D8.

    Args:
        graph: The graph; many goals and threads may share it.
        goal: ``[D]`` the latent to reach; or ``[G, D]``, several latents of which the
            cheapest is to be reached. Several take one search, and a frame that is
            linked to more than one takes the cheapest, ties by the order given.
        held_out: m*, an episode to leave out, or None.
        start: ``[D]`` an observation. The search stops as soon as it is certain where
            this observation enters the graph, and planners resume it when needed. If
            there is no route, everything is searched.
        landmarks: The graph's landmarks by `choose_landmarks`. With them, a search that
            has a ``start`` settles only a fraction of the frames.
    """
    unsearched = link_goals(graph, goal, held_out=held_out, landmarks=landmarks)
    if start is None:
        return unsearched.complete()
    observed = graph.latents.require_vector("start", start)
    (entries,) = find_entries(graph, [observed], held_out=unsearched.held_out)
    # Without any entry nothing is ever certain, and everything is searched.
    if len(entries.frames) == 0:
        return unsearched.complete()
    return unsearched.until_certain(entries)


def link_goals(
    graph: FrameGraph,
    goal: ArrayLike | Sequence[ArrayLike],
    *,
    held_out: int | None = None,
    landmarks: Landmarks | None = None,
) -> Routes:
    """Return routes of which only the links to the goal are known; see `find_routes`.

    Whoever asks them searches as far as needed.
    """
    goals = _require_goals(graph, goal)
    if held_out is not None:
        held_out = graph.latents.require_episode("held_out", held_out)
    if landmarks is not None and landmarks.graph is not graph:
        raise GraphError("landmarks are of another graph. Choose them for this one.")
    links, arrivals, prices = _link_goals(graph, goals, held_out)
    nothing = frozen(np.full(graph.num_frames, np.inf))
    nowhere = frozen(np.full(graph.num_frames, NO_ROUTE, dtype=np.int32))
    reached = (nothing, nowhere, arrivals, prices, links, landmarks, links)
    return Routes(graph, goals, held_out, *reached)


def find_routes_many(
    graph: FrameGraph,
    goals: Iterable[ArrayLike],
    *,
    held_out: Sequence[int | None] | None = None,
    workers: int | None = None,
    progress: Progress | None = None,
) -> list[Routes]:
    """Return what `find_routes` returns for each goal, searched in parallel.

    The result holds J and succ of every frame for every goal: 12 bytes each.

    Args:
        graph: The graph.
        goals: ``[G, D]`` the latents to reach.
        held_out: ``[G]`` the episode that each goal leaves out, or None.
        workers: Number of threads; None: one per processor.
        progress: Called with (done, total) goals.
    """
    vectors = [graph.latents.require_vector("goal", goal) for goal in goals]
    masks = [None] * len(vectors) if held_out is None else list(held_out)
    if len(masks) != len(vectors):
        raise GraphError(
            f"held_out must name an episode or None for each goal: "
            f"got {len(masks)} for {len(vectors)} goals."
        )
    for mask in masks:
        if mask is not None:
            graph.latents.require_episode("held_out", mask)
    if workers is not None and (not is_integer(workers) or workers < 1):
        raise GraphError(
            f"workers must be a whole number of at least 1, got {workers!r}."
        )
    if vectors:
        # Made here once: threads that race for what the graph caches make it twice.
        _link_goals(graph, vectors[:1], masks[0])
    found: list[Routes] = []
    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        for routes in pool.map(_find_one, [graph] * len(vectors), vectors, masks):
            found.append(routes)
            if progress is not None:
                progress(len(found), len(vectors))
    return found


def find_routes_to_any(
    graph: FrameGraph, goals: Iterable[ArrayLike], *, held_out: int | None = None
) -> Routes:
    """Return ``find_routes(graph, goals)``. Deprecated: call that instead."""
    warnings.warn(
        "find_routes_to_any is deprecated: find_routes takes several goals.",
        DeprecationWarning,
        stacklevel=2,
    )
    return find_routes(graph, list(goals), held_out=held_out)


def routes_to_frame(routes: Routes, frame: int) -> Routes:
    """Return the routes that end at a recorded frame instead of the goal.

    The frame itself costs nothing and has `AT_GOAL` as successor.
    """
    graph, seeds = routes.graph, Frontier.of_frame(frame)
    found = search_backwards(graph, seeds, held_out=routes.held_out)
    goals = (graph.latents.z[frame],)
    paths = (found.cost_to_go, found.successor)
    return Routes(
        graph, goals, routes.held_out, *paths, {frame: 0}, {frame: 0.0}, seeds
    )


def _find_one(graph: FrameGraph, goal: Vector, held_out: int | None) -> Routes:
    return find_routes(graph, goal, held_out=held_out)


def _bounds(landmarks: Landmarks | None, entries: Entries | None) -> Bounds | None:
    """Return the bounds of a search; None: it never had any."""
    if landmarks is None:
        return None
    # A narrow search leaves a frontier whose costs differ by more than H + 1, which
    # only the kernel with bounds can resume.
    return no_bounds() if entries is None else landmarks.bounds(entries)


def _require_goals(
    graph: FrameGraph, goal: ArrayLike | Sequence[ArrayLike]
) -> tuple[Vector, ...]:
    """Return the goals of ``[D]`` or ``[G, D]``, at least one."""
    several: Any = goal
    if not isinstance(goal, list | tuple):
        several = np.atleast_1d(several)
    if len(several) == 0:
        raise GraphError("goals must be at least 1, got 0.")
    if np.ndim(several[0]) == 0:
        several = [several]
    return tuple(graph.latents.require_vector("goal", each) for each in several)


def _link_goals(
    graph: FrameGraph, goals: Sequence[Vector], held_out: int | None
) -> tuple[Frontier, dict[int, int], dict[int, float]]:
    """Return the frames linked to a goal, to which goal each is, and for how much."""
    rows = np.stack(goals)
    found, gaps = find_candidates(graph, rows, held_out)
    is_linked = (found != NO_FRAME) & (gaps <= graph.pricing.radius)
    prices = graph.pricing.price(np.where(is_linked, gaps, 0.0))
    costs = prices
    if graph.is_directed:
        costs = prices + _charges_to_goals(graph, found, rows)
        episodes = graph.latents.episode_of(np.maximum(found, 0))
        is_linked = cheapest_per_episode(
            np.where(is_linked, costs, np.inf), episodes, found, graph.num_neighbours
        )
    numbers, _ = np.nonzero(is_linked)
    frames: NDArray[np.int64] = found[is_linked].astype(np.int64)
    prices, costs = prices[is_linked], costs[is_linked]
    # The cheapest link of every frame comes first, ties by the goals' order.
    order = np.lexsort((numbers, costs, frames))
    frames, first = np.unique(frames[order], return_index=True)
    kept = order[first]
    arrivals = dict(zip(frames.tolist(), numbers[kept].tolist(), strict=True))
    link_prices = dict(zip(frames.tolist(), prices[kept].tolist(), strict=True))
    return Frontier.of_goal(frames, costs[kept]), arrivals, link_prices


def _charges_to_goals(graph: FrameGraph, found: FrameIds, goals: NDArray[Any]) -> Costs:
    """Return ``[G, K]`` frames charged from every found frame to its goal."""
    origins = graph.latents.z[np.maximum(found, 0)].reshape(found.size, -1)
    targets = np.repeat(goals, found.shape[1], axis=0)[:, None]
    return charge_jumps(graph, origins, targets).reshape(found.shape)
