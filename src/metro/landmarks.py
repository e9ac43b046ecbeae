"""Landmarks: frames that all others know the way to, chosen once a graph."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metro.bounds import LARGEST, Bounds
from metro.entry import Entries
from metro.errors import GraphError
from metro.graph import FrameGraph
from metro.latents import is_integer
from metro.sweep import frozen, sweep, towards
from metro.types import Costs

DEFAULT_LANDMARKS = 8
"""Of 8 one cache line of bounds is read for a frame; 12 settle hardly fewer frames."""


@dataclass(frozen=True, eq=False)
class Landmarks:
    """A few far-off frames of a graph, and what it costs to get there.

    Decision: D31.

    Attributes:
        graph: The graph they were chosen for.
        frames: ``[L]`` the landmarks.
        costs: ``[N, L]`` float32, frames from every frame to each of them.
    """

    graph: FrameGraph
    frames: NDArray[np.int64]
    costs: NDArray[np.float32]

    def bounds(self, entries: Entries) -> Bounds:
        """Return the bounds for an observation that may enter at ``entries``."""
        ways = entries.prices[:, None] + self.costs[entries.frames]
        return Bounds(self.costs, frozen(ways.min(axis=0, initial=LARGEST)))


def choose_landmarks(graph: FrameGraph, count: int = DEFAULT_LANDMARKS) -> Landmarks:
    """Return landmarks, each as far from those before as frames can be.

    One full search each. Leaving out an episode makes ways longer, never shorter, so
    they serve every ``held_out``.

    Decision: D31.
    """
    if not is_integer(count) or count < 1:
        raise GraphError(f"count must be a whole number of at least 1, got {count!r}.")
    chosen: list[int] = []
    costs = np.empty((graph.num_frames, count), dtype=np.float32)
    nearest = _ways_to(graph, 0)
    for number in range(count):
        # A frame without a way to the others would tell about its own corner only.
        frame = int(np.argmax(np.where(nearest < LARGEST, nearest, -1)))
        ways = _ways_to(graph, frame)
        nearest = np.minimum(nearest, ways) if number else ways
        chosen.append(frame)
        costs[:, number] = ways
    return Landmarks(graph, frozen(np.array(chosen)), frozen(costs))


def _ways_to(graph: FrameGraph, frame: int) -> Costs:
    """Return ``[N]`` frames from every frame to one of them, at most `LARGEST`."""
    ways: Costs = np.minimum(sweep(graph, towards(frame), None)[0], LARGEST)
    return ways
