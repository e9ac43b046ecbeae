"""A route as a list of segments: steps along episodes, bridges, and what each costs."""

from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from metro.core.entry import entry_at
from metro.core.graph import TEMPORAL_COST
from metro.core.planner import MetroPlanner
from metro.core.search import Routes
from metro.kernels.neighbours.gaps import gaps_between
from metro.types import Vector


class SegmentKind(Enum):
    """What a segment of a path is."""

    ENTER = "enter"
    """From an observation outside the graph to a recorded frame."""
    TEMPORAL = "ride"
    """Forward along one episode. The value is what ``--json`` has always printed."""
    BRIDGE = "bridge"
    """To a look-alike frame of another episode."""
    ARRIVE = "arrive"
    """From a recorded frame to the goal."""


@dataclass(frozen=True)
class Segment:
    """One segment of a path.

    Attributes:
        kind: What it is.
        episode: Episode of the frame where it ends.
        start: Frame where it starts; None: the observation.
        stop: Frame where it ends; None: the goal.
        steps: Number of frames along the episode; 0 unless it is temporal.
        gap: Latent distance between its two ends; 0 if it is temporal.
        cost: Price in frames.
        total: Price of the path up to the end of this segment, in frames.
    """

    kind: SegmentKind
    episode: int | None
    start: int | None
    stop: int | None
    steps: int
    gap: float
    cost: float
    total: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """Return the segment as plain JSON values."""
        return {**asdict(self), "kind": self.kind.value}


def path_segments(routes: Routes, start: int) -> list[Segment]:
    """Return the segments from a recorded frame to the goal; empty without a route.

    A frame of the held-out episode is no vertex: from there the path enters the graph
    as an observation does.
    """
    latents = routes.graph.latents
    start = latents.require_frame("start", start)
    segments: list[Segment] = []
    entered: int | None = start
    if int(latents.episode_of(start)) == routes.held_out:
        planner = MetroPlanner(routes)
        sub_goal = planner(latents.z[start])
        routes = planner.routes
        entered = sub_goal.entry if sub_goal.cost_to_go < np.inf else None
        if entered is not None:
            segments = [
                _jump(routes, SegmentKind.ENTER, latents.z[start], None, entered)
            ]
    else:
        # Any frame may be asked for, also one that an early stop left unsettled.
        routes = routes.until_certain(entry_at(start))
    path = [] if entered is None else routes.route(entered)
    if not path:
        return []
    goal = routes.goal_after(path[-1])
    segments += _between_frames(routes, path)
    segments.append(_jump(routes, SegmentKind.ARRIVE, goal, path[-1], None))
    totals = np.cumsum([segment.cost for segment in segments]).tolist()
    return [
        replace(segment, total=total)
        for segment, total in zip(segments, totals, strict=True)
    ]


def _between_frames(routes: Routes, path: list[int]) -> list[Segment]:
    """Return the temporal segments and bridges of a path of recorded frames."""
    latents = routes.graph.latents
    episodes = latents.episode_of(path)
    segments, entered = [], path[0]
    for u, v, changes in zip(path, path[1:], np.diff(episodes) != 0, strict=False):
        if not changes:
            continue
        segments += _temporal(routes, entered, u)
        segments.append(_jump(routes, SegmentKind.BRIDGE, latents.z[u], u, v))
        entered = v
    return segments + _temporal(routes, entered, path[-1])


def _temporal(routes: Routes, start: int, stop: int) -> list[Segment]:
    """Return the segment along an episode; none if it starts where it ends."""
    if start == stop:
        return []
    episode = int(routes.graph.latents.episode_of(stop))
    steps = stop - start
    cost = steps * TEMPORAL_COST
    return [Segment(SegmentKind.TEMPORAL, episode, start, stop, steps, 0.0, cost)]


def _jump(
    routes: Routes,
    kind: SegmentKind,
    latent: Vector,
    start: int | None,
    stop: int | None,
) -> Segment:
    """Return the segment between ``latent`` and its recorded end."""
    latents = routes.graph.latents
    recorded = latents.z[start if stop is None else stop]
    gap = float(gaps_between(recorded[None], latent)[0])
    episode = None if stop is None else int(latents.episode_of(stop))
    cost = float(routes.graph.pricing.price(gap))
    return Segment(kind, episode, start, stop, 0, gap, cost)
