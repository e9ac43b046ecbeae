"""Success against seconds of planning over (h, H, T), and what nothing beats."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from metro.analysis.config_results import ConfigResult, best_covered
from metro.analysis.statistics import non_dominated

PAPER_BUDGETS = (30, 50, 60, 90, 100, 120, 130, 150, 180, 200, 300)
"""Budgets T of the paper's Pareto fronts."""


@dataclass(frozen=True)
class BudgetResult:
    """One (h, H, T): its success, and seconds of planning per episode."""

    config: ConfigResult
    step_budget: int
    success: float
    seconds: float


def at_budgets(config: ConfigResult, budgets: Iterable[int]) -> list[BudgetResult]:
    """Return a configuration at every T that it was run for, by rising T."""
    return [
        BudgetResult(config, t, config.success(t), config.planning_seconds(t))
        # The lists overlap: 2 d is often one of the paper's budgets.
        for t in sorted(set(budgets))
        if t <= config.step_budget
    ]


def pareto_front(configs: Sequence[ConfigResult]) -> list[BudgetResult]:
    """Return the (h, H, T) that no other one beats, by rising seconds.

    Only those with any success, as in the paper's Sec. 6.1.
    """
    points = [
        point
        # Few queries would win a place on the front by luck.
        for config in best_covered(configs)
        for point in at_budgets(config, _paper_budgets(config))
        if point.success > 0
    ]
    kept = non_dominated([p.success for p in points], [p.seconds for p in points])
    return [points[place] for place in kept]


def _paper_budgets(config: ConfigResult) -> tuple[int, ...]:
    distance = config.task.goal_distance
    return (*PAPER_BUDGETS, 2 * distance, 4 * distance, config.step_budget)
