"""Methods side by side on one task: which cell speaks for each, and who wins pairs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from metro.analysis.config_results import (
    ACTION_BLOCK,
    ConfigResult,
    best_cell,
    first_best_budget,
)
from metro.analysis.episode_results import Task
from metro.analysis.paper import PaperResult
from metro.analysis.statistics import (
    Interval,
    bootstrap_difference,
    discordant,
    mcnemar,
    mean_and_std,
    wilson,
)
from metro.planners.methods import metro
from metro.planners.methods.flat import FLAT
from metro.planners.methods.registry import methods

METRO = metro.METRO.name
FLAT_PAPER, FLAT_BEST = f"{FLAT.name} (paper)", f"{FLAT.name} (best h)"
METRO_BEST = f"{METRO} (best T)"
ORDER = tuple(
    label
    for method in methods()
    for label in (method.name, *(f"{method.name} ({one})" for one in method.options))
)
"""Methods, in the order that they are told."""


@dataclass(frozen=True)
class MethodResult:
    """A method's success on a task within T.

    Attributes:
        label: The method, perhaps with how its h was chosen.
        cell: The runs that speak for it.
        step_budget: T.
    """

    label: str
    cell: ConfigResult
    step_budget: int

    @property
    def num_runs(self) -> int:
        """Queries x seeds."""
        return len(self.cell.outcomes)

    @property
    def success(self) -> float:
        """Share of runs that succeed within T."""
        return self.cell.success(self.step_budget)

    @property
    def interval(self) -> Interval:
        """Wilson's 95 % interval of the success."""
        return wilson(int(self.cell.solved(self.step_budget).sum()), self.num_runs)

    @property
    def over_seeds(self) -> tuple[float, float | None]:
        """Mean and deviation over planner seeds."""
        return mean_and_std(self.cell.solved(self.step_budget), self.cell.seeds)

    @property
    def without_presolved(self) -> float | None:
        """Success of starts that did not meet the goal; None: all did."""
        open_ = ~self.cell.is_presolved
        solved = self.cell.solved(self.step_budget)
        return float(solved[open_].mean()) if open_.any() else None


@dataclass(frozen=True)
class Difference:
    """Two methods on the same queries and seeds.

    Attributes:
        first: The one that should win.
        second: The other.
        step_budget: T of both.
        num_pairs: Runs that both have.
        gain: Success of the first minus the second's.
        interval: Of the gain, 95 %, resampling queries.
        only_first: Pairs that only the first solved.
        only_second: Pairs that only the second solved.
        p_value: McNemar's exact test.
    """

    first: str
    second: str
    step_budget: int
    num_pairs: int
    gain: float
    interval: Interval
    only_first: int
    only_second: int
    p_value: float


def by_task(cells: Iterable[ConfigResult]) -> dict[Task, list[ConfigResult]]:
    """Return the cells of every task, tasks in order."""
    tasks: dict[Task, list[ConfigResult]] = {}
    for cell in cells:
        tasks.setdefault(cell.task, []).append(cell)
    return dict(sorted(tasks.items()))


def methods_of(cells: Sequence[ConfigResult]) -> dict[str, list[ConfigResult]]:
    """Return the cells each label may choose from, labels in order.

    Metro and flat are always there, if only to be told that they were not run. Flat is
    told twice: with h = d / 5 as in the paper, and with the best fixed h.
    """
    found: dict[str, list[ConfigResult]] = {METRO: [], FLAT_PAPER: [], FLAT_BEST: []}
    for cell in sorted(cells, key=lambda cell: _rank(cell.method)):
        if cell.method != FLAT.name:
            found.setdefault(cell.method, []).append(cell)
            continue
        found[FLAT_BEST].append(cell)
        if cell.plan_blocks == cell.task.goal_distance // ACTION_BLOCK:
            found[FLAT_PAPER].append(cell)
    return found


def budgets_of(distance: int) -> tuple[int, int]:
    """Return the budgets T that methods are compared at: 2 d and 4 d."""
    return 2 * distance, 4 * distance


def lines_of(label: str, cells: Sequence[ConfigResult]) -> list[MethodResult]:
    """Return a method's best at T = 2 d and 4 d; for metro also its first best T.

    A method that was run for less is told at the longest budget that it has.
    """
    if not cells:
        return []
    budgets = list(budgets_of(cells[0].task.goal_distance))
    longest = max(cell.step_budget for cell in cells)
    able = [budget for budget in budgets if budget <= longest] or [longest]
    best = [(budget, best_cell(cells, budget)) for budget in able]
    lines = [
        MethodResult(label, cell, budget) for budget, cell in best if cell is not None
    ]
    if label == METRO and lines:
        last = lines[-1]
        first = first_best_budget(last.cell, last.step_budget)
        lines.append(MethodResult(METRO_BEST, last.cell, first))
    return lines


def longest(lines: Sequence[MethodResult]) -> MethodResult:
    """Return the line with the longest budget that was not chosen by its success."""
    fixed = [line for line in lines if line.label != METRO_BEST]
    return max(fixed, key=lambda line: line.step_budget)


def difference(first: MethodResult, second: MethodResult) -> Difference | None:
    """Return how two methods differ within the same T; None: no pair in common."""
    pairs = [_runs(line) for line in (first, second)]
    common = sorted(pairs[0].keys() & pairs[1].keys())
    if not common:
        return None
    one, other = (np.array([runs[key] for key in common]) for runs in pairs)
    only_first, only_second = discordant(one, other)
    return Difference(
        first=first.label,
        second=second.label,
        step_budget=first.step_budget,
        num_pairs=len(common),
        gain=float(one.mean() - other.mean()),
        interval=bootstrap_difference(one, other, [key[:3] for key in common]),
        only_first=only_first,
        only_second=only_second,
        p_value=mcnemar(one, other),
    )


def differences(cells: Sequence[ConfigResult]) -> list[Difference]:
    """Return metro against everything else, at T = 2 d and 4 d."""
    found = {label: lines_of(label, some) for label, some in methods_of(cells).items()}
    first = [line for line in found.pop(METRO) if line.label == METRO]
    pairs = [
        difference(one, other)
        for lines in found.values()
        for other in lines
        for one in first
        if one.step_budget == other.step_budget
    ]
    return [pair for pair in pairs if pair is not None]


def paper_of(
    task: Task, label: str, step_budget: int, cells: Iterable[PaperResult]
) -> list[PaperResult]:
    """Return what the paper tells of a method at this d; the same T first."""
    method = {FLAT_PAPER: FLAT.name, METRO_BEST: METRO}.get(label, label)
    wanted = (task.benchmark, task.family, method, task.goal_distance)
    found = [
        cell
        for cell in cells
        if cell.mean is not None
        and (cell.benchmark, cell.family, cell.method, cell.goal_distance) == wanted
    ]
    return sorted(found, key=lambda cell: cell.step_budget != step_budget)


def _rank(method: str) -> tuple[int, str]:
    known = ORDER.index(method) if method in ORDER else len(ORDER)
    return known, method


def _runs(line: MethodResult) -> dict[tuple[int, int, int, int], bool]:
    """Return whether each (episode, start, goal, seed) was solved within T."""
    solved = line.cell.solved(line.step_budget)
    return {
        (row.query.episode, row.query.start, row.query.goal, row.seed): bool(done)
        for row, done in zip(line.cell.outcomes, solved, strict=True)
    }
