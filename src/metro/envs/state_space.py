"""The states that a simulator can be in, as numbers that a search may change.

Letters: K candidates, S parameters of a state.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metro.errors import WorldError

States = NDArray[np.float64]
"""``[K, S]`` or ``[S]`` simulator states."""

Possible = NDArray[np.bool_]
"""``[K]`` whether a state can exist."""

Repair = Callable[[States], tuple[States, Possible]]
"""Moves states out of walls and the like; also returns which can exist after that."""


def _keep(states: States) -> tuple[States, Possible]:
    return states, np.ones(len(states), dtype=bool)


@dataclass(frozen=True, eq=False)
class StateSpace:
    """The states that a search may draw.

    Attributes:
        names: Names of the S parameters.
        low: ``[S]`` lower limits.
        high: ``[S]`` upper limits.
        is_wrapped: ``[S]`` whether ``high`` is ``low`` again, as for an angle.
        repair: Handles what limits cannot express: walls, overlapping bodies.
    """

    names: tuple[str, ...]
    low: States
    high: States
    is_wrapped: Possible
    repair: Repair = field(default=_keep, repr=False)

    @property
    def size(self) -> int:
        """S."""
        return len(self.names)

    def admit(self, states: States) -> tuple[States, Possible]:
        """Return states ``[K, S]`` inside all limits, and which of them can exist."""
        turned = self.low + np.mod(states - self.low, self.high - self.low)
        inside = np.clip(states, self.low, self.high)
        return self.repair(np.where(self.is_wrapped, turned, inside))

    def between(self, start: States, end: States) -> States:
        """Return ``end - start``, the short way round for wrapped parameters."""
        period = self.high - self.low
        straight = end - start
        short = np.mod(straight + period / 2, period) - period / 2
        return np.where(self.is_wrapped, short, straight)

    def require(self, state: ArrayLike) -> States:
        """Return one state ``[S]``, or raise `WorldError` if it cannot exist."""
        given = np.asarray(state, np.float64)
        if given.shape != (self.size,) or not np.isfinite(given).all():
            raise WorldError(
                f"A state has {self.size} finite numbers ({', '.join(self.names)}), "
                f"got {np.asarray(state).tolist()}."
            )
        outside = np.flatnonzero((given < self.low) | (given > self.high))
        if len(outside):
            worst = int(outside[0])
            raise WorldError(
                f"{self.names[worst]} must be {self.low[worst]:g} to "
                f"{self.high[worst]:g}, got {given[worst]:g}."
            )
        # A state that must be repaired cannot exist as it was given.
        admitted, possible = self.admit(given[None])
        if not possible[0] or np.abs(self.between(given, admitted[0])).max() > 1e-9:
            raise WorldError(
                f"No such state can exist, something is inside something else: "
                f"{given.tolist()}."
            )
        return given
