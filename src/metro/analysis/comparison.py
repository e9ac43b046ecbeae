"""Methods side by side on one task: the best configuration of each, and pairs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from metro.analysis.config_results import ConfigResult, best_config, first_best_budget
from metro.analysis.paper import PaperResult
from metro.analysis.statistics import (
    Interval,
    bootstrap_difference,
    discordant,
    mcnemar,
    mean_and_std,
    wilson,
)
from metro.analysis.task import MethodKey, Task
from metro.models.presets import ACTION_BLOCK
from metro.planners.methods import flat, metro
from metro.planners.methods.registry import method_names

METRO, FLAT = metro.METRO.name, flat.FLAT.name
FLAT_PAPER, FLAT_BEST = f"{FLAT} (paper)", f"{FLAT} (best h)"
METRO_BEST = f"{METRO} (best T)"


@dataclass(frozen=True)
class MethodResult:
    """A method's success on a task within T = ``step_budget``."""

    label: str
    """The method, perhaps with how its h was chosen."""
    config: ConfigResult
    """The configuration that represents it."""
    step_budget: int

    @property
    def num_runs(self) -> int:
        """Queries x seeds."""
        return len(self.config.runs)

    @property
    def success(self) -> float:
        """Share of runs that succeed within T."""
        return self.config.success(self.step_budget)

    @property
    def interval(self) -> Interval:
        """Wilson's 95 % interval of the success."""
        return wilson(int(self.config.solved(self.step_budget).sum()), self.num_runs)

    @property
    def over_seeds(self) -> tuple[float, float | None]:
        """Mean and deviation over planner seeds."""
        return mean_and_std(self.config.solved(self.step_budget), self.config.seeds)

    @property
    def success_nontrivial(self) -> float | None:
        """Success on non-trivial starts; None: every start already meets the goal."""
        counted = ~self.config.is_trivial
        solved = self.config.solved(self.step_budget)
        return float(solved[counted].mean()) if counted.any() else None


@dataclass(frozen=True)
class Difference:
    """Two methods on the same queries and seeds, within the same T.

    The gain is the first's success minus the second's; its 95 % interval resamples
    queries, and p is McNemar's exact test. ``only_first`` counts the pairs that only
    the first solved.
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


def by_task(configs: Iterable[ConfigResult]) -> dict[Task, list[ConfigResult]]:
    """Return the results of every task, tasks in order."""
    tasks: dict[Task, list[ConfigResult]] = {}
    for config in configs:
        tasks.setdefault(config.task, []).append(config)
    return dict(sorted(tasks.items()))


def methods_of(configs: Sequence[ConfigResult]) -> dict[str, list[ConfigResult]]:
    """Return the configurations that each label may choose from, labels in order.

    Metro and flat are always there, so that a table can say that they were not run.
    Flat has two labels: with h = d / 5 as in the paper, and with the best fixed h.
    """
    found: dict[str, list[ConfigResult]] = {METRO: [], FLAT_PAPER: [], FLAT_BEST: []}
    for config in sorted(configs, key=lambda config: method_rank(config.key)):
        # Flat with an unusual choice is a method of its own, not one more h.
        if config.key != MethodKey(FLAT):
            found.setdefault(config.method, []).append(config)
            continue
        found[FLAT_BEST].append(config)
        if config.plan_blocks == config.task.goal_distance // ACTION_BLOCK:
            found[FLAT_PAPER].append(config)
    return found


def method_rank(key: MethodKey) -> tuple[int, str]:
    """Return what methods are sorted by: the known ones in order, then the rest."""
    names = method_names()
    # Methods that this version does not know come last, but are shown.
    return (names.index(key.name) if key.name in names else len(names)), key.label


def budgets_of(distance: int) -> tuple[int, int]:
    """Return the budgets T that methods are compared at: 2 d and 4 d."""
    return 2 * distance, 4 * distance


def method_results(label: str, configs: Sequence[ConfigResult]) -> list[MethodResult]:
    """Return a method's best at T = 2 d and 4 d; for metro also its first best T.

    A method that was run for less is shown at the longest budget that it has.
    """
    if not configs:
        return []
    budgets = list(budgets_of(configs[0].task.goal_distance))
    most = max(config.step_budget for config in configs)
    able = [budget for budget in budgets if budget <= most] or [most]
    best = [(budget, best_config(configs, budget)) for budget in able]
    results = [
        MethodResult(label, config, budget)
        for budget, config in best
        if config is not None
    ]
    if label == METRO and results:
        last = results[-1]
        first = first_best_budget(last.config, last.step_budget)
        results.append(MethodResult(METRO_BEST, last.config, first))
    return results


def result_at(
    label: str, configs: Sequence[ConfigResult], step_budget: int
) -> MethodResult | None:
    """Return a method's result within T; None: it was not run for T."""
    results = method_results(label, configs)
    found = (r for r in results if (r.label, r.step_budget) == (label, step_budget))
    return next(found, None)


def longest(results: Sequence[MethodResult]) -> MethodResult:
    """Return the result with the longest budget that was not chosen by its success."""
    # Metro's first best T is chosen by its success, so it would flatter metro.
    fixed = [result for result in results if result.label != METRO_BEST]
    return max(fixed, key=lambda result: result.step_budget)


def difference(first: MethodResult, second: MethodResult) -> Difference | None:
    """Return how two methods differ within the same T; None: no pair in common."""
    pairs = [_solved_by_run(result) for result in (first, second)]
    # Sorted: the bootstrap numbers queries as they come, and must not depend on a set.
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
        # Without the seed: runs of one query fail together, so they are drawn together.
        interval=bootstrap_difference(one, other, [key[:3] for key in common]),
        only_first=only_first,
        only_second=only_second,
        p_value=mcnemar(one, other),
    )


def differences(configs: Sequence[ConfigResult]) -> list[Difference]:
    """Return metro against every other method, at T = 2 d and 4 d."""
    methods = methods_of(configs)
    metro = [r for r in method_results(METRO, methods.pop(METRO)) if r.label == METRO]
    pairs = [
        difference(one, other)
        for label, some in methods.items()
        for other in method_results(label, some)
        for one in metro
        if one.step_budget == other.step_budget
    ]
    return [pair for pair in pairs if pair is not None]


def paper_of(
    task: Task, label: str, step_budget: int, paper: Iterable[PaperResult]
) -> list[PaperResult]:
    """Return what the paper reports of a method at this d; the same T first."""
    # Flat at its best h is not in the paper: its label finds nothing there.
    method = {FLAT_PAPER: FLAT, METRO_BEST: METRO}.get(label, label)
    wanted = (task.benchmark, task.family, method, task.goal_distance)
    found = [
        one
        for one in paper
        if one.mean is not None
        and (one.benchmark, one.family, one.method, one.goal_distance) == wanted
    ]
    # False sorts first, and sorting is stable: the rest keeps the paper's order.
    return sorted(found, key=lambda one: one.step_budget != step_budget)


def _solved_by_run(result: MethodResult) -> dict[tuple[int, int, int, int], bool]:
    """Return whether each (episode, start, goal, seed) was solved within T."""
    solved = result.config.solved(result.step_budget)
    return {
        (run.query.episode, run.query.start, run.query.goal, run.seed): bool(done)
        for run, done in zip(result.config.runs, solved, strict=True)
    }
