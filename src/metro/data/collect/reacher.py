"""How Reacher is recorded: uniform torques as released, or a mixture that goes far."""

import numpy as np
from numpy.typing import NDArray

from metro.data.collect.variants import Variant
from metro.types import Env

_SEGMENT_STEPS = (5, 40)
"""Shortest and longest segment of a mixture, in environment steps."""

_CALM = 0.9
"""How much of the previous smooth torque remains a step later."""


class UniformTorques:
    """Independent torques, uniform in [-1, 1]: the released corpus."""

    def begin(self, env: Env, rng: np.random.Generator) -> None:
        """Do nothing: torques have no memory."""

    def act(self, env: Env, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return two torques."""
        return rng.uniform(-1, 1, env.action_size).astype(np.float32)


class TorqueMixture:
    """Segments of uniform, held and smooth torques, one after the other.

    Uniform torques cancel out and leave the arm near where it was; held and smooth
    ones carry it to far poses and to high speeds.
    """

    def begin(self, env: Env, rng: np.random.Generator) -> None:
        """Start the first segment."""
        self._torque = np.zeros(env.action_size)
        self._start_segment(rng)

    def act(self, env: Env, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return two torques of the present segment."""
        if self._left == 0:
            self._start_segment(rng)
        self._left -= 1
        drawn = rng.uniform(-1, 1, env.action_size)
        if self._kind == "uniform":
            self._torque = drawn
        elif self._kind == "smooth":
            # The factor of the new part keeps the variance of the sum constant.
            self._torque = _CALM * self._torque + (1 - _CALM**2) ** 0.5 * drawn
        noise = 0.1 * rng.standard_normal(env.action_size)
        return np.clip(self._torque + noise, -1, 1).astype(np.float32)

    def _start_segment(self, rng: np.random.Generator) -> None:
        shortest, longest = _SEGMENT_STEPS
        self._left = int(rng.integers(shortest, longest + 1))
        self._kind = rng.choice(["uniform", "held", "smooth"])
        if self._kind == "held":
            # Squared, so mostly weak: full torque only spins the arm.
            strength = rng.uniform(0, 1) ** 2
            self._torque = strength * rng.uniform(-1, 1, self._torque.shape)


VARIANTS = {"random": Variant(UniformTorques), "mixture": Variant(TorqueMixture)}
