"""Scripted motions of the Cube arm that are not the expert's: its detours and mistakes.

A world model that has only seen an expert believes that the cube follows the arm. Here
grasps miss, let go early or go through; closed fingers push the cube; the arm wanders.
Positions are in metres, actions in OGBench's units (1 is 5 cm, 0.3 rad, full gripper).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

OPEN, KEEP, CLOSE = -1.0, 0.0, 1.0

_LOW = np.array([0.25, -0.35, 0.02])
_HIGH = np.array([0.60, 0.35, 0.35])
"""The box that OGBench keeps the gripper in."""

_STRIDE = 0.05
_YAW_GAIN = 3.0
_NEAR = 0.015
_QUARTER = np.pi / 2


@dataclass
class Motion:
    """One straight movement of the gripper.

    Attributes:
        target: ``[3]`` where it ends.
        gripper: `OPEN`, `KEEP` or `CLOSE` while it moves.
        steps: Time limit, in environment steps.
        dwells: Whether it lasts all of ``steps``; else it ends on arrival.
    """

    target: NDArray[np.float64]
    gripper: float
    steps: int
    dwells: bool = False


class Primitive:
    """Makes motions one after the other.

    Args:
        motions: What to do, in order; never empty.
        yaw: Angle that the fingers turn to, in radians.
        speed: Largest action along an axis.
        noise: Standard deviation of the noise on the actions, smooth in time.
    """

    def __init__(
        self, motions: list[Motion], yaw: float, speed: float, noise: float
    ) -> None:
        self._motions = motions
        self._yaw, self._speed, self._noise = yaw, speed, noise
        self._drift = np.zeros(5)

    @property
    def is_over(self) -> bool:
        """Whether all motions are done."""
        return not self._motions

    def act(
        self, senses: dict[str, Any], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return the next action ``[5]``, not yet clipped."""
        motion = self._motions[0]
        away = motion.target - senses["proprio/effector_pos"]
        turn = self._yaw - senses["proprio/effector_yaw"][0]
        # A cube looks the same after a quarter turn: take the nearest such angle.
        turn = (turn + _QUARTER / 2) % _QUARTER - _QUARTER / 2
        action = np.empty(5)
        action[:3] = np.clip(1.5 * away / _STRIDE, -self._speed, self._speed)
        action[3] = np.clip(_YAW_GAIN * turn, -1, 1)
        action[4] = motion.gripper
        motion.steps -= 1
        arrived = np.linalg.norm(away) < _NEAR and not motion.dwells
        if motion.steps <= 0 or arrived:
            self._motions.pop(0)
        # Noise that lasts moves the gripper; independent noise only shakes it.
        self._drift = 0.7 * self._drift + rng.normal(0, self._noise, 5)
        return action + self._drift


class Wander:
    """Moves the gripper about near the cube, at random: smooth, or white noise.

    Args:
        rng: Draws the manner: how long, how fast, how smooth, what the fingers do.
    """

    def __init__(self, rng: np.random.Generator) -> None:
        self._steps = int(rng.integers(15, 45))
        self._smoothness = rng.choice([0.0, 0.6, 0.9])
        self._scale = rng.uniform(0.3, 1.0)
        self._height = rng.uniform(0.0, 0.12)
        self._gripper = float(rng.choice([OPEN, KEEP, CLOSE]))
        self._drift = np.zeros(5)

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self._steps <= 0

    def act(
        self, senses: dict[str, Any], rng: np.random.Generator
    ) -> NDArray[np.float64]:
        """Return a random action ``[5]`` with a pull to the cube, not yet clipped."""
        self._steps -= 1
        keep = self._smoothness
        # Scaled so that the variance does not depend on the smoothness.
        fresh = rng.normal(0, self._scale, 5) * np.sqrt(1 - keep**2)
        self._drift = keep * self._drift + fresh
        if rng.random() < 0.06:
            self._gripper = float(rng.choice([OPEN, KEEP, CLOSE]))
        # A pull towards the cube: far from it there is nothing to learn.
        home = _above(senses["privileged/block_0_pos"], self._height)
        away = home - senses["proprio/effector_pos"]
        action = self._drift.copy()
        action[:3] += np.clip(2 * away / _STRIDE, -0.3, 0.3)
        action[4] = self._gripper + 0.3 * self._drift[4]
        return action


def grasp_primitive(
    senses: dict[str, Any], rng: np.random.Generator, *, misses: bool
) -> Primitive:
    """Return a try to fetch the cube and let go of it somewhere.

    The fingers close around the cube, or ``misses`` it by 2.5 to 6 cm; then they rise,
    travel for a random time, and open wherever they are by then, also high up.
    """
    cube = senses["privileged/block_0_pos"]
    gap = rng.uniform(0.025, 0.06) if misses else rng.uniform(0.0, 0.008)
    place = cube + gap * _heading(rng)
    high, low = rng.uniform(0.08, 0.2), rng.uniform(0.0, 0.012)
    away = rng.uniform(_LOW, _HIGH)
    motions = [
        Motion(_above(place, high), OPEN, 25),
        Motion(_above(place, low), OPEN, 15),
        Motion(_above(place, low), CLOSE, int(rng.integers(2, 7)), dwells=True),
        Motion(_above(place, rng.uniform(0.03, 0.25)), CLOSE, 12),
        Motion(away, CLOSE, int(rng.integers(1, 20))),
        Motion(away, OPEN, int(rng.integers(2, 8)), dwells=True),
    ]
    return _primitive(motions, senses, rng)


def push_primitive(senses: dict[str, Any], rng: np.random.Generator) -> Primitive:
    """Return a push of the cube along the table, fingers closed (or open, rarely)."""
    cube = senses["privileged/block_0_pos"]
    heading = _heading(rng)
    gripper = CLOSE if rng.random() < 0.8 else OPEN
    start = cube - rng.uniform(0.06, 0.1) * heading
    end = cube + rng.uniform(0.0, 0.15) * heading
    side = np.cross(heading, [0, 0, 1]) * rng.uniform(-0.015, 0.015)
    low = rng.uniform(0.0, 0.02)
    motions = [
        Motion(_above(start, 0.1), gripper, 20),
        Motion(_above(start + side, low), gripper, 12),
        Motion(_above(end + side, low), gripper, 14),
    ]
    if rng.random() < 0.5:
        motions.append(Motion(_above(end, 0.1), KEEP, 6))
    return _primitive(motions, senses, rng)


def _primitive(
    motions: list[Motion], senses: dict[str, Any], rng: np.random.Generator
) -> Primitive:
    """Return these motions at a random speed, the fingers along the cube or nearly."""
    yaw = senses["privileged/block_0_yaw"][0] + rng.normal(0, 0.15)
    noise = rng.uniform(0.0, 0.15)
    return Primitive(motions, yaw, speed=rng.uniform(0.4, 1.0), noise=noise)


def _heading(rng: np.random.Generator) -> NDArray[np.float64]:
    """Return a random direction along the table, ``[3]``."""
    angle = rng.uniform(0, 2 * np.pi)
    return np.array([np.cos(angle), np.sin(angle), 0.0])


def _above(place: NDArray[np.float64], height: float) -> NDArray[np.float64]:
    """Return the point ``height`` above ``place`` ``[3]``, inside the box."""
    point: NDArray[np.float64] = np.clip(place + np.array([0, 0, height]), _LOW, _HIGH)
    return point
