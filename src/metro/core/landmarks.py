"""Landmarks: frames whose distance to all others is known, chosen once per graph."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from metro.core.entry import Entries
from metro.core.graph import FrameGraph
from metro.core.latents import Latents, frozen, is_integer
from metro.core.shortest_paths import Bounds, Frontier, search_backwards
from metro.errors import GraphError
from metro.types import Costs

DEFAULT_LANDMARKS = 8
"""The costs to and from 8 landmarks fill one cache line per frame."""

LARGEST = 4_096.0
"""Frames; whatever is further from a landmark counts as that far."""


@dataclass(frozen=True, eq=False)
class Landmarks:
    """A few far-off frames of a graph, and the costs to and from each of them.

    Decision: D31.

    Attributes:
        graph: The graph that they were chosen for.
        frames: ``[L]`` the landmarks.
        costs: ``[N, 2 L]`` float32: first the cost in frames from every frame to each
            landmark, then, negated, the cost from each landmark to every frame.
    """

    graph: FrameGraph
    frames: NDArray[np.int64]
    costs: NDArray[np.float32]

    def bounds(self, entries: Entries) -> Bounds:
        """Return the bounds for an observation that may enter at ``entries``."""
        reach = entries.costs[:, None] + self.costs[entries.frames]
        return Bounds(self.costs, frozen(reach.min(axis=0, initial=LARGEST)))


def choose_landmarks(graph: FrameGraph, count: int = DEFAULT_LANDMARKS) -> Landmarks:
    """Return landmarks, each as far as possible from those chosen before.

    This takes two full searches per landmark. Leaving out an episode makes paths
    longer, never shorter, so the bounds hold for every ``held_out``.

    Decision: D31.

    Args:
        graph: The graph.
        count: Number of landmarks.
    """
    if not is_integer(count) or count < 1:
        raise GraphError(f"count must be a whole number of at least 1, got {count!r}.")
    chosen: list[int] = []
    costs = _aligned_rows(graph.num_frames, 2 * count)
    last, mirrored = graph.num_frames - 1, _time_reversed(graph)
    nearest = _costs_to(graph, 0)
    for number in range(count):
        # A frame that cannot reach the others would say nothing about them.
        frame = int(np.argmax(np.where(nearest < LARGEST, nearest, -1)))
        costs_to = _costs_to(graph, frame)
        nearest = np.minimum(nearest, costs_to) if number else costs_to
        chosen.append(frame)
        costs[:, number] = costs_to
        # With the sign changed, one formula serves both directions: a frame that a
        # landmark reaches late is far from an observation that it reaches early.
        costs[:, count + number] = -_costs_to(mirrored, last - frame)[::-1]
    return Landmarks(graph, frozen(np.array(chosen)), frozen(costs))


def _costs_to(graph: FrameGraph, frame: int) -> Costs:
    """Return ``[N]`` frames from every frame to one of them, at most `LARGEST`."""
    found = search_backwards(graph, Frontier.of_frame(frame))
    costs: Costs = np.minimum(found.cost_to_go, LARGEST)
    return costs


def _time_reversed(graph: FrameGraph) -> FrameGraph:
    """Return the graph whose paths to frame N - 1 - u are those from u, reversed.

    Bridges and episodes run backwards. Of the latents only the episodes matter to a
    search, and of the bridges only the costs.
    """
    num_frames = graph.num_frames
    starts, ends, costs = graph.out_bridges
    offsets = num_frames - graph.latents.episode_offsets[::-1]
    return replace(
        graph,
        latents=Latents(np.zeros((num_frames, 1), dtype=np.float32), offsets),
        bridge_offsets=len(ends) - starts[::-1],
        bridge_frame=num_frames - 1 - ends[::-1],
        bridge_cost=costs[::-1],
    )


def _aligned_rows(rows: int, width: int) -> NDArray[np.float32]:
    """Return ``[rows, width]`` float32 that begins where a cache line does."""
    room = np.empty(rows * width + _LINE, dtype=np.float32)
    skipped = -(room.ctypes.data // room.itemsize) % _LINE
    return room[skipped : skipped + rows * width].reshape(rows, width)


_LINE = 16
"""Numbers in a cache line of 64 bytes."""
