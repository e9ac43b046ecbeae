"""The backward search: from a goal, the cheapest route from every frame."""

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metro.core.bounds import Bounds, no_bounds
from metro.core.entry import Entries, find_entries
from metro.core.graph import FrameGraph
from metro.core.landmarks import Landmarks
from metro.core.latents import is_integer
from metro.core.neighbours import NO_EPISODE, NO_FRAME
from metro.core.numpy_search import is_certain
from metro.core.sweep import (
    AT_GOAL,
    NO_ROUTE,
    Frontier,
    frozen,
    sweep,
    towards,
)
from metro.errors import GraphError
from metro.types import Costs, FrameIds, Gaps, Progress, Vector

__all__ = [
    "AT_GOAL",
    "NO_ROUTE",
    "Frontier",
    "Routes",
    "find_routes",
    "find_routes_many",
    "find_routes_to_any",
    "routes_to_frame",
]


@dataclass(frozen=True, eq=False)
class Routes:
    """The cost-to-go of every frame and where to go next, for one goal.

    A search that was told to stop early is not complete: frames that it had not
    settled by then have cost ``inf`` and no route until it goes on.

    Paper: Eq. 6.

    Attributes:
        graph: The graph that was searched.
        goal: ``[D]`` the goal's latent, its values untouched.
        held_out: The episode that was left out, or None.
        cost_to_go: ``[N]`` J(u) in frames; ``inf``: no route.
        successor: ``[N]`` succ(u): a frame, `AT_GOAL` or `NO_ROUTE`.
        frontier: Where a search that stopped early goes on, or None.
        landmarks: What keeps a search that goes on narrow, or None.
        alternatives: Further goals that are as good; see `find_routes_to_any`.
        arrivals: Which goal the frames that are linked to one arrive at, by number;
            those not named arrive at ``goal``.
    """

    graph: FrameGraph
    goal: Vector
    held_out: int | None
    cost_to_go: Costs
    successor: FrameIds
    frontier: Frontier | None = None
    landmarks: Landmarks | None = None
    alternatives: tuple[Vector, ...] = ()
    arrivals: Mapping[int, int] = field(default_factory=dict)

    @property
    def goals(self) -> tuple[Vector, ...]:
        """All goals; mostly there is only one."""
        return (self.goal, *self.alternatives)

    def goal_after(self, frame: int) -> Vector:
        """Return the goal that a route arrives at whose last frame is ``frame``."""
        return self.goals[self.arrivals.get(frame, 0)]

    @property
    def is_complete(self) -> bool:
        """Whether every frame that has a route is settled."""
        return self.frontier is None

    def complete(self) -> "Routes":
        """Return the routes of all frames, going on where the search stopped."""
        return self if self.frontier is None else self._going_on(self.frontier)

    def until_certain(self, entries: Entries) -> "Routes":
        """Return routes that tell for certain which of the entries is cheapest."""
        if self.frontier is None or self._is_certain(entries, self.frontier):
            return self
        return self._going_on(self.frontier, entries)

    def _is_certain(self, entries: Entries, frontier: Frontier) -> bool:
        """Return whether no entry that is not settled can be the cheapest, or as cheap.

        By the bounds of the observation that was searched for last: further on the
        way they mostly suffice, and nothing needs to be searched.
        """
        costs = self.cost_to_go[entries.frames]
        bounds = (frontier.bounds or no_bounds()).of(entries.frames)
        bounds[np.isfinite(costs)] = -np.inf  # settled, whatever a later bound tells
        return is_certain(costs, entries.prices, bounds, frontier.least)

    def _going_on(self, frontier: Frontier, entries: Entries | None = None) -> "Routes":
        known = self.cost_to_go.copy(), self.successor.copy()
        bounds = _bounds(self.landmarks, entries)
        cost_to_go, successor, left = sweep(
            self.graph, frontier, self.held_out, entries, bounds, known
        )
        return replace(self, cost_to_go=cost_to_go, successor=successor, frontier=left)

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
    goal: ArrayLike,
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
        goal: ``[D]`` the latent to reach.
        held_out: m*, an episode to leave out, or None.
        start: ``[D]`` an observation: stop as soon as it is certain where it enters.
            Planners go on with such a search when they are somewhere else. If there is
            no route, it is searched to the end.
        landmarks: Of this graph, by `choose_landmarks`: a search that stops at
            ``start``, or goes on from there, settles a fraction of the frames.
    """
    goal = graph.latents.require_vector("goal", goal)
    if held_out is not None:
        held_out = graph.latents.require_episode("held_out", held_out)
    if landmarks is not None and landmarks.graph is not graph:
        raise GraphError("landmarks are of another graph. Choose them for this one.")
    entries = None
    if start is not None:
        observed = graph.latents.require_vector("start", start)
        (entries,) = find_entries(graph, [observed], held_out=held_out)
    (seeds,) = _seeds(graph, [goal], [held_out])
    found = sweep(graph, seeds, held_out, entries, _bounds(landmarks, entries))
    return Routes(graph, goal, held_out, *found, landmarks)


def _bounds(landmarks: Landmarks | None, entries: Entries | None) -> Bounds | None:
    """Return what keeps a search narrow; None: it never was."""
    if landmarks is None:
        return None
    return no_bounds() if entries is None else landmarks.bounds(entries)


def find_routes_to_any(
    graph: FrameGraph, goals: Iterable[ArrayLike], *, held_out: int | None = None
) -> Routes:
    """Return the cheapest route from every frame to whichever goal is cheapest.

    One search, whatever the number of goals: all of them are its seeds. A frame that is
    linked to several takes the cheapest, ties by the order given.

    Paper: Eq. 6. Decision: D4.

    Args:
        graph: The graph.
        goals: ``[G, D]`` latents, each as good as the others; at least one.
        held_out: m*, an episode to leave out, or None.
    """
    vectors = [graph.latents.require_vector("goal", goal) for goal in goals]
    if not vectors:
        raise GraphError("goals must be at least 1, got 0.")
    if held_out is not None:
        held_out = graph.latents.require_episode("held_out", held_out)
    best: dict[int, tuple[float, int]] = {}
    for number, links in enumerate(_seeds(graph, vectors, [held_out] * len(vectors))):
        for frame, cost in zip(
            links.frames.tolist(), links.costs.tolist(), strict=True
        ):
            best[frame] = min(best.get(frame, (np.inf, number)), (cost, number))
    frames = np.array(sorted(best), dtype=np.int64)
    costs = np.array([best[frame][0] for frame in frames.tolist()])
    found = sweep(graph, _frontier(frames, costs), held_out)
    arrivals = {frame: number for frame, (_, number) in best.items()}
    return replace(
        Routes(graph, vectors[0], held_out, *found),
        alternatives=tuple(vectors[1:]),
        arrivals=arrivals,
    )


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

    Paper: Eq. 6, Alg. 1. Decision: D4, D8.

    Args:
        graph: The graph.
        goals: ``[G, D]`` the latents to reach.
        held_out: ``[G]`` the episode that each goal leaves out, or None.
        workers: Threads; None: one a processor.
        progress: Called with (done, total) goals.
    """
    vectors = [graph.latents.require_vector("goal", goal) for goal in goals]
    masks = _require_masks(graph, held_out, len(vectors))
    if workers is not None and (not is_integer(workers) or workers < 1):
        raise GraphError(
            f"workers must be a whole number of at least 1, got {workers!r}."
        )
    if not vectors:
        return []
    seeds = _seeds(graph, vectors, masks)
    found: list[Routes] = []
    with ThreadPoolExecutor(workers or os.cpu_count()) as pool:
        for answer in pool.map(partial(sweep, graph), seeds, masks):
            goal, mask = vectors[len(found)], masks[len(found)]
            found.append(Routes(graph, goal, mask, *answer))
            if progress is not None:
                progress(len(found), len(vectors))
    return found


def routes_to_frame(routes: Routes, frame: int) -> Routes:
    """Return the routes that end at a recorded frame instead of the goal.

    The frame itself costs nothing and has `AT_GOAL` as successor.
    """
    cost_to_go, successor, _ = sweep(routes.graph, towards(frame), routes.held_out)
    goal = routes.graph.latents.z[frame]
    return Routes(routes.graph, goal, routes.held_out, cost_to_go, successor)


def _require_masks(
    graph: FrameGraph, held_out: Sequence[int | None] | None, num_goals: int
) -> list[int | None]:
    if held_out is None:
        return [None] * num_goals
    if len(held_out) != num_goals:
        raise GraphError(
            f"held_out must name an episode or None for each goal: "
            f"got {len(held_out)} for {num_goals} goals."
        )
    return [
        None if m is None else graph.latents.require_episode("held_out", m)
        for m in held_out
    ]


def _seeds(
    graph: FrameGraph, goals: Sequence[Vector], held_out: Sequence[int | None]
) -> list[Frontier]:
    """Return the frames that each goal is linked to, and their prices."""
    queries = np.stack(goals)
    excluded = np.array([NO_EPISODE if m is None else m for m in held_out])
    frames, gaps = graph.index.nearest(queries, graph.num_neighbours, excluded)
    return [_links(graph, *found) for found in zip(frames, gaps, strict=True)]


def _links(graph: FrameGraph, frames: FrameIds, gaps: Gaps) -> Frontier:
    near = (frames != NO_FRAME) & (gaps <= graph.pricing.radius)
    return _frontier(frames[near].astype(np.int64), graph.pricing.price(gaps[near]))


def _frontier(frames: NDArray[np.int64], costs: Costs) -> Frontier:
    successors = np.full(len(frames), AT_GOAL, dtype=np.int32)
    return Frontier(frozen(frames), frozen(costs), frozen(successors))
