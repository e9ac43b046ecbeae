"""PushT: agent and block, five numbers; neither inside the other nor in the walls."""

import numpy as np
from numpy.typing import NDArray

from metro.integrations.corpora import Corpus
from metro.integrations.worlds.pusht import AGENT_RADIUS, BAR, STEM, WINDOW, PushT
from metro.residual import Possible, States, StateSpace
from metro.types import Image

_WALLS = 5.0, 506.0
"""Where the walls are on both axes; the block stays between them."""

_TOUCH = 1.0
"""Units that agent and block may overlap while one pushes the other."""

_TRIES = 4
"""Moves to get the agent out of the block: out of the bar may be into the stem."""

_CORNERS = np.array(
    [
        (x, y)
        for left, top, right, bottom in (BAR, STEM)
        for x in (left, right)
        for y in (top, bottom)
    ]
)

Numbers = NDArray[np.float64]


class PushTStage:
    """PushT: agent x and y, block x, y (window units) and angle (rad, wrapped).

    A block that reaches into a wall is moved out of it, then the agent out of the
    block, the shortest way.
    """

    def __init__(self, world: PushT) -> None:
        self._world = world
        self.space = StateSpace(
            ("agent x", "agent y", "block x", "block y", "block angle"),
            np.zeros(5),
            np.array([WINDOW, WINDOW, WINDOW, WINDOW, 2 * np.pi]),
            np.array([False, False, False, False, True]),
            leave_each_other,
        )

    def read(self, corpus: Corpus) -> States:
        """Return the recorded states without velocities, inside the limits."""
        recorded = corpus.column("state")[:, :5].astype(np.float64)
        return self.space.admit(recorded)[0]

    def draw(self, state: States) -> Image:
        """Return the window with agent and block at ``state``."""
        return self._world.show({"state": state})


def leave_each_other(states: States) -> tuple[States, Possible]:
    """Return states ``[K, 5]`` without overlaps, and where that could be done."""
    moved = states.copy()
    _leave_walls(moved)
    for _ in range(_TRIES):
        _leave_block(moved)
    apart = _depths(moved).max(axis=1) <= _TOUCH + 1e-6
    inside = ((moved[:, :2] >= 0) & (moved[:, :2] <= WINDOW)).all(axis=1)
    return moved, apart & inside


def _leave_walls(states: States) -> None:
    cosine, sine = np.cos(states[:, 4:]), np.sin(states[:, 4:])
    x, y = _CORNERS.T
    turned = x * cosine - y * sine, x * sine + y * cosine
    for axis, offsets in enumerate(turned):
        place = states[:, 2 + axis]
        lowest = _WALLS[0] - offsets.min(axis=1)
        highest = _WALLS[1] - offsets.max(axis=1)
        states[:, 2 + axis] = np.clip(place, lowest, highest)


def _leave_block(states: States) -> None:
    """Move each agent out of the part of the block that it is deepest in."""
    local = _to_block(states)
    depths = _depths(states)
    for part, (left, top, right, bottom) in enumerate((BAR, STEM)):
        is_in = (depths[:, part] > _TOUCH) & (depths[:, part] >= depths.max(axis=1))
        out = local + _way_out(local, (left, top, right, bottom))
        states[is_in, :2] = _to_window(out, states)[is_in]


def _way_out(local: Numbers, box: tuple[float, float, float, float]) -> Numbers:
    """Return the shortest move ``[K, 2]`` after which the disc touches the box."""
    left, top, right, bottom = box
    nearest = np.clip(local, (left, top), (right, bottom))
    away = local - nearest
    gap = np.linalg.norm(away, axis=1, keepdims=True)
    reach = AGENT_RADIUS - _TOUCH
    outward = away * (reach / np.maximum(gap, 1e-12) - 1)
    x, y = local.T
    sides = np.stack([x - left, right - x, y - top, bottom - y], axis=1)
    directions = np.array([(-1, 0), (1, 0), (0, -1), (0, 1)])
    side = sides.argmin(axis=1)
    through = directions[side] * (sides.min(axis=1) + reach)[:, None]
    return np.where(gap > 0, outward, through)


def _depths(states: States) -> Numbers:
    """Return how deep the agent is in bar and stem ``[K, 2]``; negative: outside."""
    local = _to_block(states)
    return np.stack([_depth(local, box) for box in (BAR, STEM)], axis=1)


def _depth(local: Numbers, box: tuple[float, float, float, float]) -> Numbers:
    left, top, right, bottom = box
    middle = np.array([left + right, top + bottom]) / 2
    beyond = np.abs(local - middle) - np.array([right - left, bottom - top]) / 2
    outside = np.linalg.norm(np.maximum(beyond, 0), axis=1)
    depth: Numbers = AGENT_RADIUS - outside - np.minimum(beyond.max(axis=1), 0)
    return depth


def _to_block(states: States) -> Numbers:
    """Return the agents ``[K, 2]`` in the block's own frame."""
    x, y = (states[:, :2] - states[:, 2:4]).T
    cosine, sine = np.cos(states[:, 4]), np.sin(states[:, 4])
    return np.stack([x * cosine + y * sine, y * cosine - x * sine], axis=1)


def _to_window(local: Numbers, states: States) -> Numbers:
    """Return points ``[K, 2]`` of the block's frame in the window."""
    x, y = local.T
    cosine, sine = np.cos(states[:, 4]), np.sin(states[:, 4])
    turned = np.stack([x * cosine - y * sine, x * sine + y * cosine], axis=1)
    return np.asarray(turned + states[:, 2:4])
