"""Selectors of the hierarchical baselines: which predicted latent to head for."""

import torch

from metro.planners.hierarchical.macro_cem import MacroPlan, MacroSolver
from metro.types import Vector


class HierarchicalSelector:
    """Heads for the first predicted latent, and searches again at every interval.

    Implements `metro.planners.closed_loop.SubgoalSelector`.

    Args:
        solver: Of the macro level.
        goal: ``[D]``.
        stream: The query's own random numbers.
        replan_interval: Frames between two searches, at least.
        warm_start: Start a search from what the one before left.
    """

    def __init__(
        self,
        solver: MacroSolver,
        goal: Vector,
        stream: torch.Generator,
        *,
        replan_interval: int = 5,
        warm_start: bool = False,
    ) -> None:
        self._solver, self._goal, self._stream = solver, goal, stream
        self._interval, self._warm_start = replan_interval, warm_start
        self._solved_at = 0
        self.plans: list[MacroPlan] = []

    def __call__(self, observed: Vector, step: int) -> tuple[Vector, str]:
        """Return the sub-goal, and whether it is a new one."""
        # Micro plans may end between intervals: what counts is frames, not plans.
        if self.plans and step - self._solved_at < self._interval:
            return self.plans[-1].latents[0], "held"
        self.plans.append(
            self._solver.solve(observed, self._goal, self._stream, self._left())
        )
        self._solved_at = step
        return self.plans[-1].latents[0], "macro"

    def _left(self) -> torch.Tensor | None:
        """Return the macro actions after the first of the plan before, if any."""
        if not self._warm_start or not self.plans:
            return None
        return self.plans[-1].macro_actions[1:]


class StagedSelector:
    """Searches once; its predicted latents are targets, one after another.

    Implements `SubgoalSelector`. The last target is held to the end: it
    is a prediction, never the goal itself.

    Args:
        solver: Of the macro level.
        goal: ``[D]``.
        stream: The query's own random numbers.
        stage_frames: Frames that a target is held for.
    """

    def __init__(
        self,
        solver: MacroSolver,
        goal: Vector,
        stream: torch.Generator,
        *,
        stage_frames: int,
    ) -> None:
        self._solver, self._goal, self._stream = solver, goal, stream
        self._frames = stage_frames
        self.plan: MacroPlan | None = None

    def __call__(self, observed: Vector, step: int) -> tuple[Vector, str]:
        """Return the target of the stage that ``step`` belongs to."""
        if self.plan is None:
            self.plan = self._solver.solve(observed, self._goal, self._stream)
        # After the last stage there is no goal to switch to: the authors hold on.
        stage = min(step // self._frames, len(self.plan.latents) - 1)
        return self.plan.latents[stage], f"stage {stage + 1}"
