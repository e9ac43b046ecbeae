"""A route told like a journey: episodes ridden, bridges crossed, frames paid."""

from dataclasses import asdict, dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from metro.core.gaps import gaps_between
from metro.core.graph import TEMPORAL_COST
from metro.core.planner import MetroPlanner
from metro.core.search import Routes
from metro.types import Vector


class SegmentKind(Enum):
    """What a leg of a journey is."""

    ENTER = "enter"
    """From an observation outside the graph to a recorded frame."""
    RIDE = "ride"
    """Forward along one episode."""
    BRIDGE = "bridge"
    """To a look-alike frame of another episode."""
    ARRIVE = "arrive"
    """From a recorded frame to the goal."""


@dataclass(frozen=True)
class Segment:
    """One leg of a journey.

    Attributes:
        kind: What it is.
        episode: Episode of the frame where it ends.
        start: Frame where it starts; None: the observation.
        stop: Frame where it ends; None: the goal.
        steps: Frames ridden; 0 unless it is a ride.
        gap: Latent gap that is jumped; 0 for a ride.
        cost: Price in frames.
        total: Frames paid so far, this leg included.
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
        """Return the leg as plain JSON values."""
        return {**asdict(self), "kind": self.kind.value}


def plan_journey(routes: Routes, start: int) -> list[Segment]:
    """Return the legs from a recorded frame to the goal; empty if there is no route.

    A frame of the held-out episode is no vertex: from there the graph is entered as
    from an observation.
    """
    routes = routes.complete()
    latents = routes.graph.latents
    start = latents.require_frame("start", start)
    legs: list[Segment] = []
    boarded: int | None = start
    if int(latents.episode_of(start)) == routes.held_out:
        entered = MetroPlanner(routes)(latents.z[start])
        boarded = entered.entry if entered.cost_to_go < np.inf else None
        if boarded is not None:
            legs = [_jump(routes, SegmentKind.ENTER, latents.z[start], None, boarded)]
    path = [] if boarded is None else routes.route(boarded)
    if not path:
        return []
    legs += _rides_and_bridges(routes, path)
    legs.append(
        _jump(routes, SegmentKind.ARRIVE, routes.goal_after(path[-1]), path[-1], None)
    )
    totals = np.cumsum([leg.cost for leg in legs]).tolist()
    return [replace(leg, total=total) for leg, total in zip(legs, totals, strict=True)]


def _rides_and_bridges(routes: Routes, path: list[int]) -> list[Segment]:
    latents = routes.graph.latents
    episodes = latents.episode_of(path)
    legs, boarded = [], path[0]
    for u, v, changes in zip(path, path[1:], np.diff(episodes) != 0, strict=False):
        if not changes:
            continue
        legs += [_ride(routes, boarded, u)] if u > boarded else []
        legs.append(_jump(routes, SegmentKind.BRIDGE, latents.z[u], u, v))
        boarded = v
    legs += [_ride(routes, boarded, path[-1])] if path[-1] > boarded else []
    return legs


def _ride(routes: Routes, start: int, stop: int) -> Segment:
    episode = int(routes.graph.latents.episode_of(stop))
    steps = stop - start
    return Segment(
        SegmentKind.RIDE, episode, start, stop, steps, 0.0, steps * TEMPORAL_COST
    )


def _jump(
    routes: Routes,
    kind: SegmentKind,
    latent: Vector,
    start: int | None,
    stop: int | None,
) -> Segment:
    """Return a leg over the gap between ``latent`` and its recorded end."""
    latents = routes.graph.latents
    recorded = latents.z[start if stop is None else stop]
    gap = float(gaps_between(recorded[None], latent)[0])
    episode = None if stop is None else int(latents.episode_of(stop))
    cost = float(routes.graph.pricing.price(gap))
    return Segment(kind, episode, start, stop, 0, gap, cost)
