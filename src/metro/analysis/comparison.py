"""Methods side by side on one task: the best configuration of each, and pairs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from metro.analysis.config_results import (
    ConfigResult,
    MethodResult,
    best_config,
    first_best_budget,
)
from metro.analysis.grouping import group_by
from metro.analysis.paper import PaperResult, load_paper_results
from metro.analysis.statistics import (
    Interval,
    bootstrap_difference,
    discordant,
    mcnemar,
)
from metro.analysis.task import MethodKey, Task
from metro.evaluation.queries import Query
from metro.models.presets import ACTION_BLOCK
from metro.planners.methods import flat, metro
from metro.planners.methods.registry import method_names

METRO, FLAT = metro.METRO.name, flat.FLAT.name
FLAT_PAPER, FLAT_BEST = f"{FLAT} (paper)", f"{FLAT} (best h)"
METRO_BEST = f"{METRO} (best T)"


@dataclass(frozen=True)
class Difference:
    """Two results reduced to the queries and seeds that both have, within the same T.

    The gain is the first's success minus the second's; its 95 % interval resamples
    queries, and p is McNemar's exact test. ``only_first`` counts the pairs that only
    the first solved.
    """

    first: MethodResult
    second: MethodResult
    gain: float
    interval: Interval
    only_first: int
    only_second: int
    p_value: float

    @property
    def both(self) -> tuple[MethodResult, MethodResult]:
        """The two results."""
        return self.first, self.second

    @property
    def num_pairs(self) -> int:
        """Queries x seeds that both have."""
        return self.first.num_runs


def by_task(configs: Iterable[ConfigResult]) -> dict[Task, list[ConfigResult]]:
    """Return the results of every task, tasks in order."""
    return dict(sorted(group_by(configs, lambda config: config.task).items()))


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


def method_results(label: str, configs: Sequence[ConfigResult]) -> list[MethodResult]:
    """Return a method's best at T = 2 d and 4 d; for metro also its first best T.

    A method that was run for less is shown at the longest budget that it has.
    """
    if not configs:
        return []
    budgets = configs[0].task.usual_budgets
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
    runs = [
        {(run.query, run.seed) for run in one.config.runs} for one in (first, second)
    ]
    common = runs[0] & runs[1]
    if not common:
        return None
    first, second = (_keep(result, common) for result in (first, second))
    # Both are sorted by query, then seed: the n-th runs of the two are a pair.
    one, other = (
        result.config.solved(result.step_budget) for result in (first, second)
    )
    only_first, only_second = discordant(one, other)
    return Difference(
        first=first,
        second=second,
        gain=float(one.mean() - other.mean()),
        # By query: runs of one query fail together, so they are drawn together.
        interval=bootstrap_difference(
            one, other, [run.query for run in first.config.runs]
        ),
        only_first=only_first,
        only_second=only_second,
        p_value=mcnemar(one, other),
    )


def _keep(result: MethodResult, common: set[tuple[Query, int]]) -> MethodResult:
    """Return a result of the runs alone whose query and seed are in ``common``."""
    runs = tuple(run for run in result.config.runs if (run.query, run.seed) in common)
    return replace(result, config=replace(result.config, runs=runs))


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


def paper_of(task: Task, label: str, step_budget: int) -> list[PaperResult]:
    """Return what the paper reports of a method at this d; the same T first."""
    # Flat at its best h is not in the paper: its label finds nothing there.
    method = {FLAT_PAPER: FLAT, METRO_BEST: METRO}.get(label, label)
    wanted = (task.benchmark, task.family, method, task.goal_distance)
    found = [
        one
        for one in load_paper_results()
        if one.mean is not None
        and (one.benchmark, one.family, one.method, one.goal_distance) == wanted
    ]
    # False sorts first, and sorting is stable: the rest keeps the paper's order.
    return sorted(found, key=lambda one: one.step_budget != step_budget)
