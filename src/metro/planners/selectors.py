"""How long a sub-goal is held: what selectors of several methods share."""

from abc import ABC, abstractmethod

from metro.types import Vector

PLANS_PER_SUB_GOAL = 2
"""Micro plans between two entries into the graph: one, and one replan. Sec. 5.4."""

Target = tuple[Vector, str]
"""The latent ``[D]`` to head for, and a word that says why."""


class HoldForNPlans(ABC):
    """Keeps a target for some micro plans, then chooses the next.

    Args:
        plans_per_sub_goal: Micro plans that a target is held for.
    """

    def __init__(self, plans_per_sub_goal: int = PLANS_PER_SUB_GOAL) -> None:
        self._patience, self._plans = plans_per_sub_goal, 0
        self._target: Target | None = None

    def __call__(self, observed: Vector, step: int) -> Target:
        """Return the target, choosing a new one when it is time."""
        # Counted in plans, not frames: one plan, and one replan that corrects it.
        if self._target is None or self._plans % self._patience == 0:
            self._target = self.choose(observed)
        self._plans += 1
        return self._target

    @abstractmethod
    def choose(self, observed: Vector) -> Target:
        """Return the next target, from the observation ``[D]``."""
