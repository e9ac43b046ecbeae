"""Landmarks: frames that all others know the way to, chosen once a graph."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metro.core.bounds import LARGEST, Bounds
from metro.core.entry import Entries
from metro.core.graph import FrameGraph
from metro.core.latents import Latents, is_integer
from metro.core.sweep import frozen, sweep, towards
from metro.errors import GraphError
from metro.types import Costs

DEFAULT_LANDMARKS = 8
"""Of 8, there and back, one cache line of bounds is read for a frame."""


@dataclass(frozen=True, eq=False)
class Landmarks:
    """A few far-off frames of a graph, and what it costs to get there and back.

    Decision: D31.

    Attributes:
        graph: The graph they were chosen for.
        frames: ``[L]`` the landmarks.
        costs: ``[N, 2 L]`` float32: frames from every frame to each of them; then, less
            than zero, from each of them to every frame.
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

    Two full searches each. Leaving out an episode makes ways longer, never shorter, so
    they serve every ``held_out``.

    Decision: D31.
    """
    if not is_integer(count) or count < 1:
        raise GraphError(f"count must be a whole number of at least 1, got {count!r}.")
    chosen: list[int] = []
    costs = _whole_lines(graph.num_frames, 2 * count)
    last, mirrored = graph.num_frames - 1, _time_reversed(graph)
    nearest = _ways_to(graph, 0)
    for number in range(count):
        # A frame without a way to the others would tell about its own corner only.
        frame = int(np.argmax(np.where(nearest < LARGEST, nearest, -1)))
        ways = _ways_to(graph, frame)
        nearest = np.minimum(nearest, ways) if number else ways
        chosen.append(frame)
        costs[:, number] = ways
        # What is added to get from here to there is taken off on the way back.
        costs[:, count + number] = -_ways_to(mirrored, last - frame)[::-1]
    return Landmarks(graph, frozen(np.array(chosen)), frozen(costs))


def _ways_to(graph: FrameGraph, frame: int) -> Costs:
    """Return ``[N]`` frames from every frame to one of them, at most `LARGEST`."""
    ways: Costs = np.minimum(sweep(graph, towards(frame), None)[0], LARGEST)
    return ways


def _time_reversed(graph: FrameGraph) -> FrameGraph:
    """Return the graph whose ways to frame N - 1 - u are those from u, reversed.

    Bridges are symmetric and stay; episodes are ridden from their end. Of latents only
    the episodes matter.
    """
    num_frames = graph.num_frames
    offsets = num_frames - graph.latents.episode_offsets[::-1]
    return FrameGraph(
        Latents(np.zeros((num_frames, 1), dtype=np.float32), offsets),
        graph.table,
        graph.pricing,
        len(graph.bridge_frame) - graph.bridge_offsets[::-1],
        num_frames - 1 - graph.bridge_frame[::-1],
        graph.bridge_cost[::-1],
    )


def _whole_lines(rows: int, width: int) -> NDArray[np.float32]:
    """Return ``[rows, width]`` float32 that begins where a cache line does."""
    room = np.empty(rows * width + _LINE, dtype=np.float32)
    skipped = -(room.ctypes.data // room.itemsize) % _LINE
    return room[skipped : skipped + rows * width].reshape(rows, width)


_LINE = 16
"""Numbers in a cache line."""
