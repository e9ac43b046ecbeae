"""PushT: agent and block, five numbers; neither inside the other nor in the walls."""

from collections.abc import Iterator

import numpy as np

from metro.envs.pusht import PushT
from metro.envs.pusht_geometry import (
    AGENT_RADIUS,
    BAR,
    STEM,
    WINDOW,
    Points,
    depth_in_block,
    to_block,
    to_window,
)
from metro.envs.state_space import Possible, States, StateSpace
from metro.types import CorpusLike, Image

_WALLS = 5.0, 506.0
"""Where the walls are on both axes; the block stays between them."""

_TOUCH = 1.0
"""Units that agent and block may overlap while one pushes the other."""

_CORNERS = np.array(
    [
        (x, y)
        for left, top, right, bottom in (BAR, STEM)
        for x in (left, right)
        for y in (top, bottom)
    ]
)


class PushTStates:
    """PushT: agent x and y, block x, y (window units) and angle (rad, wrapped).

    A block that reaches into a wall is moved out of it, then the agent out of the
    block, the shortest way.
    """

    def __init__(self, env: PushT) -> None:
        self._env = env
        self.space = StateSpace(
            ("agent x", "agent y", "block x", "block y", "block angle"),
            np.zeros(5),
            np.array([WINDOW, WINDOW, WINDOW, WINDOW, 2 * np.pi]),
            np.array([False, False, False, False, True]),
            leave_each_other,
        )

    def read(self, corpus: CorpusLike) -> States:
        """Return the recorded states without velocities, inside the limits."""
        recorded = corpus.column("state")[:, :5].astype(np.float64)
        return self.space.admit(recorded)[0]

    def draw(self, state: States) -> Image:
        """Return the window with agent and block at ``state``."""
        return self._env.render_state({"state": state})


def leave_each_other(states: States) -> tuple[States, Possible]:
    """Return states ``[K, 5]`` without overlaps, and where that could be done."""
    moved = states.copy()
    _leave_walls(moved)
    possible = _leave_block(moved)
    inside = ((moved[:, :2] >= 0) & (moved[:, :2] <= WINDOW)).all(axis=1)
    return moved, possible & inside


def _leave_walls(states: States) -> None:
    cosine, sine = np.cos(states[:, 4:]), np.sin(states[:, 4:])
    x, y = _CORNERS.T
    turned = x * cosine - y * sine, x * sine + y * cosine
    for axis, offsets in enumerate(turned):
        place = states[:, 2 + axis]
        lowest = _WALLS[0] - offsets.min(axis=1)
        highest = _WALLS[1] - offsets.max(axis=1)
        states[:, 2 + axis] = np.clip(place, lowest, highest)


def _leave_block(states: States) -> Possible:
    """Move each agent the shortest way out of the block; return where there is one."""
    local = to_block(states[:, :2], states[:, 2:5])
    inside = depth_in_block(local) > _TOUCH
    ways = np.stack(list(_ways_out(local)))  # [ways, K, 2]
    lengths = np.linalg.norm(ways - local, axis=2)
    free = np.stack([depth_in_block(way) for way in ways]) <= _TOUCH + 1e-6
    # A way out of the bar may lead into the stem.
    lengths[~free] = np.inf
    shortest = lengths.argmin(axis=0)
    places = ways[shortest, np.arange(len(states))]
    states[inside, :2] = to_window(places, states[:, 2:5])[inside]
    return ~inside | np.isfinite(lengths.min(axis=0))


def _ways_out(local: Points) -> Iterator[Points]:
    """Yield places ``[K, 2]`` where the disc touches bar or stem, or both.

    Through each side, away from the nearest point, and the two inner corners.
    """
    reach = AGENT_RADIUS - _TOUCH
    for left, top, right, bottom in (BAR, STEM):
        for axis, place in ((0, left), (0, right), (1, top), (1, bottom)):
            outward = -reach if place in (left, top) else reach
            out = local.copy()
            out[:, axis] = place + outward
            yield out
        nearest = np.clip(local, (left, top), (right, bottom))
        gap = np.linalg.norm(local - nearest, axis=1, keepdims=True)
        yield nearest + (local - nearest) * reach / np.maximum(gap, 1e-12)
    for x in (STEM[0] - reach, STEM[2] + reach):
        yield np.broadcast_to((x, BAR[3] + reach), local.shape)


STATES = PushTStates
