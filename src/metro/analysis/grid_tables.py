"""Grids of h and H: the settings of a sweep, and the table of what they reached."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metro.analysis.config_results import at_budgets
from metro.analysis.formatting import number
from metro.analysis.grouping import group_rows
from metro.analysis.statistics import non_dominated
from metro.errors import BenchmarkError
from metro.evaluation.records import Setting
from metro.models.presets import ACTION_BLOCK
from metro.planners.methods.metro import METRO
from metro.planners.methods.registry import find_method

_MULTIPLES = (1, 1.2, 2, 4)
"""Budgets that success is read off at, in goal distances, beside the one asked for."""
COLUMNS = ("T", "h", "H", "success", "seconds per query", "rows", "")


@dataclass(frozen=True)
class GridRow:
    """One (h, H, T) of a sweep: success within T, planning seconds per query.

    The best are those that no other (h, H, T) beats in as little time.
    """

    plan_blocks: int
    waypoint_budget: int | None
    step_budget: int
    success: float
    seconds: float
    rows: int
    is_best: bool

    def to_text(self) -> list[str]:
        """Return what a table shows under `COLUMNS`."""
        return [
            str(self.step_budget),
            str(self.plan_blocks),
            number(self.waypoint_budget),
            f"{self.success:.1%}",
            f"{self.seconds:.3f}",
            str(self.rows),
            "*" if self.is_best else "",
        ]


def grid(
    plan_blocks: str,
    waypoint_budgets: str | None,
    *,
    step_budget: int,
    planner_seeds: Sequence[int],
    method: str = METRO.name,
) -> list[Setting]:
    """Return the settings of a grid.

    Without H given it is swept from 5 h - 5 to 5 h + 5, at least 1, as in the paper
    (Sec. "Hyperparameters"). Methods without a graph have no H.
    """
    return [
        Setting(method, blocks, budget, step_budget, seed)
        for blocks in parse_numbers(plan_blocks)
        for budget in _budgets(method, blocks, waypoint_budgets)
        for seed in planner_seeds
    ]


def _budgets(method: str, plan_blocks: int, chosen: str | None) -> Sequence[int | None]:
    if chosen is not None:
        return parse_numbers(chosen)
    if not find_method(method).needs_graph:
        return [None]
    middle = ACTION_BLOCK * plan_blocks
    return range(max(1, middle - ACTION_BLOCK), middle + ACTION_BLOCK + 1)


def parse_numbers(text: str) -> list[int]:
    """Return the numbers of a list such as ``1,3-5``: 1, 3, 4, 5."""
    numbers: list[int] = []
    for part in text.split(","):
        first, dash, last = part.strip().partition("-")
        # This refuses signs as well: -3 would read as a range without a beginning.
        if not first.isdigit() or (dash and not last.isdigit()):
            raise BenchmarkError(
                f"A list of numbers looks like 1,3-5, got {text!r} at {part!r}."
            )
        numbers += range(int(first), int(last or first) + 1)
    if not numbers or min(numbers) < 1:
        raise BenchmarkError(f"The numbers must be at least 1, got {text!r}.")
    return numbers


def grid_table(rows: Iterable[Mapping[str, Any]], goal_distance: int) -> list[GridRow]:
    """Return every (h, H, T) of a sweep by T and success; the Pareto front is best."""
    # 1.2 d is not whole for every d.
    wanted = [round(multiple * goal_distance) for multiple in _MULTIPLES]
    points = [
        point
        for config in group_rows(rows)
        for point in at_budgets(config, [*wanted, config.step_budget])
    ]
    front = non_dominated([p.success for p in points], [p.seconds for p in points])
    # Points that are equal in both are all best, though the front holds one of them.
    best = {(points[place].success, points[place].seconds) for place in front}
    table = [
        GridRow(
            plan_blocks=point.config.plan_blocks,
            waypoint_budget=point.config.waypoint_budget,
            step_budget=point.step_budget,
            success=point.success,
            seconds=point.seconds,
            rows=len(point.config.runs),
            is_best=(point.success, point.seconds) in best,
        )
        for point in points
    ]
    return sorted(table, key=lambda row: (row.step_budget, -row.success, row.seconds))
