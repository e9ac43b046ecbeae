"""How hard the hierarchical baselines search, for each distance to the goal."""

from dataclasses import dataclass

from metro.errors import BenchmarkError
from metro.models.macro.sizes import NUM_WAYPOINTS
from metro.planners.cem import CEMSettings
from metro.planners.hierarchical.macro_variants import STAGES, MacroVariant

BANK_SIZE = 65_536
RESIDUAL = 0.2
RESIDUAL_FLOOR = 1e-3
BOX_CHUNKS = 2_048


@dataclass(frozen=True)
class MacroSearch:
    """One macro search.

    Attributes:
        macro_steps: h_h, macro actions of a plan.
        num_samples: Candidates in an iteration.
        iterations: How often.
        num_elites: Best candidates that the next iteration is drawn around.
        spread: Standard deviation of the first candidates.
    """

    macro_steps: int
    num_samples: int
    iterations: int
    num_elites: int
    spread: float = 1.0

    def __post_init__(self) -> None:
        for name in ("num_samples", "iterations"):
            if getattr(self, name) < 1:
                raise BenchmarkError(
                    f"{name} must be at least 1, got {getattr(self, name)}."
                )
        # The macro model was trained on so many waypoints, not on more.
        if not 1 <= self.macro_steps < NUM_WAYPOINTS:
            raise BenchmarkError(
                f"macro_steps must be in [1, {NUM_WAYPOINTS - 1}], "
                f"got {self.macro_steps}."
            )
        if not 2 <= self.num_elites <= self.num_samples:
            raise BenchmarkError(
                f"num_elites must be in [2, {self.num_samples}], got {self.num_elites}."
            )


@dataclass(frozen=True)
class HierarchySettings:
    """Everything that a hierarchical method is run with.

    Decision: D21.

    Attributes:
        variant: Which of the hierarchical methods.
        goal_distance: d, frames.
        macro: Budget of the macro search.
        micro: Budget of the micro search; only its first block is executed.
        replan_interval: Frames between two macro searches, at least.
        bank_size: Sequences in the bank of hi-lewm-c.
        leave_one_out: Whether the query's own episode is kept out of its bank; the
            authors leave it in.
        clip_to_box: Whether hi-lewm keeps its candidates in the calibrated box; the
            authors' solver never reads it.
    """

    variant: MacroVariant
    goal_distance: int
    macro: MacroSearch
    micro: CEMSettings
    replan_interval: int = 5
    bank_size: int = BANK_SIZE
    leave_one_out: bool = False
    clip_to_box: bool = False

    def __post_init__(self) -> None:
        variant = self.variant
        if variant.is_staged and self.macro.macro_steps != STAGES:
            raise BenchmarkError(
                f"{variant.name} has {STAGES} stages, so macro_steps must be "
                f"{STAGES}; got {self.macro.macro_steps}."
            )
        if self.leave_one_out and not variant.has_bank:
            raise BenchmarkError(
                f"leave_one_out belongs to methods with a bank; {variant.name} has "
                f"none."
            )
        if self.clip_to_box and variant.has_bank:
            raise BenchmarkError(
                f"clip_to_box belongs to methods without a bank; {variant.name} draws "
                f"from one."
            )

    @property
    def stage_frames(self) -> int:
        """Frames that a stage's target is held for: ceil(d / 2)."""
        return -(-self.goal_distance // STAGES)

    @property
    def cuts(self) -> tuple[int, ...]:
        """Frames at which a stage ends; empty unless staged."""
        ends = range(self.stage_frames, STAGES * self.stage_frames, self.stage_frames)
        return tuple(ends) if self.variant.is_staged else ()


_BUDGETS = {
    25: ((900, 20, 10), (300, 30, 150)),
    50: ((1500, 40, 10), (900, 30, 150)),
    75: ((1200, 60, 10), (1200, 30, 150)),
}
"""d -> macro and micro (samples, iterations, elites); from the paper."""


def hierarchy_settings(
    variant: MacroVariant,
    goal_distance: int,
    *,
    macro_steps: int,
    leave_one_out: bool = False,
    clip_to_box: bool = False,
) -> HierarchySettings:
    """Return the published settings of a method for one distance to the goal.

    Args:
        variant: Which of the hierarchical methods.
        goal_distance: d: 25, 50 or 75 frames.
        macro_steps: h_h: the paper reports the better of 1 and 2.
        leave_one_out: See `HierarchySettings`.
        clip_to_box: See `HierarchySettings`.
    """
    if goal_distance not in _BUDGETS:
        raise BenchmarkError(
            f"The published budgets are for goal distances "
            f"{', '.join(map(str, _BUDGETS))}; got {goal_distance}. Choose "
            f"one of them, or make HierarchySettings of your own in Python."
        )
    macro, micro = _BUDGETS[goal_distance]
    samples, iterations, elites = micro
    return HierarchySettings(
        variant,
        goal_distance,
        MacroSearch(macro_steps, *macro),
        CEMSettings(2, samples, elites, iterations),
        leave_one_out=leave_one_out,
        clip_to_box=clip_to_box,
    )
