"""The backward search: from a goal, the cheapest route from every frame."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metro.graph import TEMPORAL_COST, FrameGraph
from metro.neighbours import nearest_frames
from metro.types import Costs, Frames, Vector

AT_GOAL = -1
"""Successor of a frame whose next hop is the goal itself."""

NO_ROUTE = -2
"""Successor of a frame that cannot reach the goal."""


@dataclass(frozen=True, eq=False)
class Routes:
    """The cost-to-go of every frame and where to go next, for one goal.

    Paper: Eq. 6.

    Attributes:
        graph: The graph that was searched.
        goal: ``[D]`` the goal's latent, its values untouched.
        held_out: The episode that was left out, or None.
        cost_to_go: ``[N]`` J(u) in frames; ``inf``: no route.
        successor: ``[N]`` succ(u): a frame, `AT_GOAL` or `NO_ROUTE`.
    """

    graph: FrameGraph
    goal: Vector
    held_out: int | None
    cost_to_go: Costs
    successor: Frames

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
    graph: FrameGraph, goal: ArrayLike, *, held_out: int | None = None
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
    """
    goal = graph.latents.require_vector("goal", goal)
    if held_out is not None:
        held_out = graph.latents.require_episode("held_out", held_out)
    frames, gaps = nearest_frames(graph.index, goal, graph.num_neighbours, held_out)
    near = gaps <= graph.pricing.radius
    seeds, costs = frames[near].astype(np.int64), graph.pricing.price(gaps[near])
    return Routes(graph, goal, held_out, *_search(graph, seeds, costs, held_out))


def routes_to_frame(routes: Routes, frame: int) -> Routes:
    """Return the routes that end at a recorded frame instead of the goal.

    The frame itself costs nothing and has `AT_GOAL` as successor.
    """
    found = _search(routes.graph, np.array([frame]), np.zeros(1), routes.held_out)
    goal = routes.graph.latents.z[frame]
    return replace(routes, goal=goal, cost_to_go=found[0], successor=found[1])


def reachable_from(
    graph: FrameGraph, frames: NDArray[np.int64], *, held_out: int | None = None
) -> NDArray[np.bool_]:
    """Return ``[N]`` whether a route leads from any of ``frames`` to each frame."""
    reached = np.zeros(graph.num_frames, dtype=np.bool_)
    if held_out is not None:  # never entered, because it seems reached already
        reached[graph.latents.rows_of(held_out)] = True
    last = np.zeros(graph.num_frames, dtype=np.bool_)
    last[graph.latents.episode_offsets[1:] - 1] = True
    front = frames
    while len(front):
        reached[front] = True
        _, others, _ = _bridges_of(graph, front)
        front = np.unique(np.concatenate([front[~last[front]] + 1, others]))
        front = front[~reached[front]]
    if held_out is not None:
        reached[graph.latents.rows_of(held_out)] = False
    return reached


def _search(
    graph: FrameGraph, seeds: NDArray[np.int64], costs: Costs, held_out: int | None
) -> tuple[Costs, Frames]:
    """Settle frames in buckets one frame wide.

    Every edge costs at least one frame, so frames whose J lies in [i, i + 1) cannot
    improve one another: a bucket is final when its turn comes, and no heap is needed.
    """
    cost_to_go = np.full(graph.num_frames, np.inf)
    successor = np.full(graph.num_frames, NO_ROUTE, dtype=np.int32)
    if held_out is not None:  # nothing is below -inf: the episode is never entered
        cost_to_go[graph.latents.rows_of(held_out)] = -np.inf
    cost_to_go[seeds], successor[seeds] = costs, AT_GOAL
    buckets: dict[int, list[NDArray[np.int64]]] = {}
    _file(buckets, seeds, costs)
    while buckets:
        number = min(buckets)
        filed = np.unique(np.concatenate(buckets.pop(number)))
        settled = filed[np.floor(cost_to_go[filed]) == number]
        improved = _relax(graph, settled, cost_to_go, successor)
        _file(buckets, improved, cost_to_go[improved])
    cost_to_go[cost_to_go == -np.inf] = np.inf
    cost_to_go.setflags(write=False)
    successor.setflags(write=False)
    return cost_to_go, successor


def _relax(
    graph: FrameGraph,
    settled: NDArray[np.int64],
    cost_to_go: Costs,
    successor: Frames,
) -> NDArray[np.int64]:
    """Offer every settled frame to those that lead to it; return who got cheaper."""
    v, u, cost = _edges_into(graph, settled)
    offer = cost_to_go[v] + cost
    order = np.lexsort((v, offer, u))
    v, u, offer = v[order], u[order], offer[order]
    best = np.ones(len(u), dtype=np.bool_)
    best[1:] = u[1:] != u[:-1]
    v, u, offer = v[best], u[best], offer[best]
    cheaper = offer < cost_to_go[u]
    lower = (offer == cost_to_go[u]) & (v < successor[u])
    taken = cheaper | lower
    cost_to_go[u[taken]], successor[u[taken]] = offer[taken], v[taken]
    return u[cheaper]


def _edges_into(
    graph: FrameGraph, frames: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Costs]:
    """Return all edges u → v into ``frames`` as (v, u, cost)."""
    starts = graph.latents.episode_offsets
    ridden = frames[starts[graph.latents.episode_of(frames)] != frames]
    v, u, cost = _bridges_of(graph, frames)
    return (
        np.concatenate([ridden, v]),
        np.concatenate([ridden - 1, u]),
        np.concatenate([np.full(len(ridden), TEMPORAL_COST), cost]),
    )


def _bridges_of(
    graph: FrameGraph, frames: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], Costs]:
    """Return all bridges at ``frames`` as (frame, other end, cost)."""
    starts = graph.bridge_offsets[frames]
    counts = graph.bridge_offsets[frames + 1] - starts
    ends = np.cumsum(counts)
    within = np.arange(counts.sum()) - np.repeat(ends - counts, counts)
    picked = np.repeat(starts, counts) + within
    others = graph.bridge_frame[picked].astype(np.int64)
    return np.repeat(frames, counts), others, graph.bridge_cost[picked]


def _file(
    buckets: dict[int, list[NDArray[np.int64]]],
    frames: NDArray[np.int64],
    costs: Costs,
) -> None:
    """Put each frame into the bucket of its cost."""
    for number, group in _groups(np.floor(costs).astype(np.int64), frames):
        buckets.setdefault(number, []).append(group)


def _groups(
    numbers: NDArray[np.int64], frames: NDArray[np.int64]
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    order = np.argsort(numbers, kind="stable")
    starts = np.flatnonzero(np.diff(numbers[order], prepend=-1))
    for group in np.split(order, starts)[1:]:
        yield int(numbers[group[0]]), frames[group]
