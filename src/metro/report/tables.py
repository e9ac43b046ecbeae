"""The tables of one task: its results in, a `Table` out, one function each."""

from collections.abc import Iterable, Sequence

import numpy as np

from metro.analysis.comparison import (
    FLAT_BEST,
    METRO,
    Difference,
    differences,
    longest,
    method_results,
    methods_of,
    paper_of,
)
from metro.analysis.config_results import ConfigResult, MethodResult, pareto_front
from metro.analysis.episode_results import PHASES, PLANNING
from metro.analysis.formatting import (
    NOT_RUN,
    NOTHING,
    ends,
    number,
    p_value_text,
    percent,
    plus_minus,
)
from metro.analysis.statistics import arrival_ratio, wilson
from metro.analysis.task import UNKNOWN, Task
from metro.errors import short
from metro.report.document import Table

PAIR_HEADER = ("points", "95 %", "p", "pairs")
_UNTAGGED = "untagged"


def success_table(configs: Sequence[ConfigResult]) -> Table:
    """Return each method's success within T, with the paper's number beside it."""
    rows: list[tuple[str, ...]] = []
    task = configs[0].task
    for label, some in methods_of(configs).items():
        results = method_results(label, some)
        rows += map(_success_row, results)
        # It keeps its line: a method that is not shown is not missed.
        if not results:
            known = paper_text(task, label, task.usual_budgets[0])
            named = ", ".join(map(str, task.usual_budgets))
            empty = [NOTHING] * 4
            rows.append((label, NOTHING, NOTHING, named, NOT_RUN, *empty, known))
    header = ("method", "h", "H", "T", "success", "95 %", "mean ± std",
              "non-trivial starts", "runs", "paper")  # fmt: skip
    return Table(header, tuple(rows), source_of(configs))


def _success_row(result: MethodResult) -> tuple[str, ...]:
    left = result.success_nontrivial
    return (
        result.label,
        *_setting(result.config),
        str(result.step_budget),
        f"{100 * result.success:.1f}",
        ends(result.interval),
        percent(*result.over_seeds),
        NOTHING if left is None else f"{100 * left:.1f}",
        str(result.num_runs),
        paper_text(result.config.task, result.label, result.step_budget),
    )


def paired(configs: Sequence[ConfigResult]) -> Table | None:
    """Return metro against the others on the same queries and seeds; None: no pair."""
    rows = []
    for pair in differences(configs):
        names = f"{pair.first.label} − {pair.second.label}"
        apart = f"{pair.only_first} : {pair.only_second}"
        gain, interval, *certainty = pair_texts(pair)
        budget = str(pair.first.step_budget)
        rows.append((names, budget, gain, interval, apart, *certainty))
    header = ("difference", "T", "points", "95 %", "only one solved", "p", "pairs")
    return Table(header, tuple(rows), source_of(configs)) if rows else None


def pair_texts(pair: Difference) -> tuple[str, str, str, str]:
    """Return how two results differ, under `PAIR_HEADER`."""
    gain, interval = f"{100 * pair.gain:+.1f}", ends(pair.interval, "+")
    return gain, interval, p_value_text(pair.p_value), str(pair.num_pairs)


def arrivals(configs: Sequence[ConfigResult]) -> Table:
    """Return how soon each method arrives, and which kinds of sub-goals it had."""
    rows = []
    for result in _longest(configs):
        task = result.config.task
        reported = paper_of(task, result.label, result.step_budget)
        ratios = [one.arrival_ratio for one in reported if one.arrival_ratio]
        rows.append(
            (
                result.label,
                str(result.step_budget),
                str(result.num_runs),
                number(arrival_of(result), ".2f"),
                number(next(iter(ratios), None), ".2f"),
                _kinds(result.config),
            )
        )
    header = ("method", "T", "runs", "arrival ratio", "paper", "kinds of sub-goals")
    return Table(header, tuple(rows), source_of(configs))


def arrival_of(result: MethodResult) -> float | None:
    """Return the arrival ratio of a method within T, on non-trivial starts."""
    config = result.config
    # A trivial start arrives at once, whoever plans.
    counted = ~config.is_trivial & config.solved(result.step_budget)
    return arrival_ratio(config.frames[counted], config.demonstration[counted])


def times(configs: Sequence[ConfigResult]) -> Table:
    """Return seconds of an episode by phase, and the macro planner's share."""
    rows = []
    for result in _longest(configs):
        spent, share = result.config.seconds, result.config.macro_overhead
        planning = sum(spent[phase] for phase in PLANNING)
        rows.append(
            (
                result.label,
                # Runs are timed as a whole, so this T is the one that was run.
                str(result.config.step_budget),
                str(result.num_runs),
                *(f"{spent[phase]:.3f}" for phase in PHASES),
                f"{planning:.3f}",
                f"{sum(spent.values()) - planning:.3f}",
                number(share, ".1%"),
            )
        )
    header = ("method", "T", "runs", *PHASES, "planning", "environment",
              "macro overhead")  # fmt: skip
    caption = (
        "Mean seconds per episode at the whole budget T, at the batch size of the run. "
        f"{source_of(configs)}"
    )
    return Table(header, tuple(rows), caption)


def fronts(configs: Sequence[ConfigResult]) -> Table:
    """Return the Pareto fronts of metro and flat over (h, H, T)."""
    rows, methods = [], methods_of(configs)
    for label in (METRO, FLAT_BEST):
        for point in pareto_front(methods[label]):
            success = f"{100 * point.success:.1f}"
            numbers = (str(point.step_budget), success, f"{point.seconds:.3f}")
            rows.append((label, *_setting(point.config), *numbers))
    header = ("method", "h", "H", "T", "success", "seconds of planning")
    return Table(header, tuple(rows), source_of(configs))


def by_tag(configs: Sequence[ConfigResult]) -> Table | None:
    """Return the success by kind of query; None: no row has a tag."""
    found = [run.tags for config in configs for run in config.runs]
    tags = sorted({tag for some in found for tag in some})
    if not tags:
        return None
    kinds = [*tags, *([_UNTAGGED] if not all(found) else [])]
    rows = []
    for result in _longest(configs):
        solved = result.config.solved(result.step_budget)
        tagged = [run.tags or (_UNTAGGED,) for run in result.config.runs]
        shares = (_share(solved[[kind in some for some in tagged]]) for kind in kinds)
        rows.append((result.label, str(result.step_budget), *shares))
    return Table(("method", "T", *kinds), tuple(rows), source_of(configs))


def source_of(configs: Iterable[ConfigResult]) -> str:
    """Return where numbers come from: n, seeds, query file and commits."""
    runs = [run for config in configs for run in config.runs]
    task = runs[0].task
    queries = len({run.query for run in runs})
    seeds = sorted({run.seed for run in runs})
    commits = ", ".join(sorted({run.commit for run in runs}))
    digest = task.digests[2]
    shown = "" if digest == UNKNOWN else f" ({short(digest)})"
    return (
        f"n = {queries} queries x {len(seeds)} planner seed{'s'[: len(seeds) - 1]} "
        f"({', '.join(map(str, seeds))}); query file {task.queries}{shown}; "
        f"commit {commits}."
    )


def paper_text(task: Task, label: str, step_budget: int) -> str:
    """Return the paper's numbers at this d, with their T if it is not ours."""
    found = paper_of(task, label, step_budget)
    same = [one for one in found if one.step_budget == step_budget]
    shown = [
        plus_minus(one.mean, one.std) + ("" if same else f" (T = {one.step_budget})")
        for one in same or found
    ]
    return "; ".join(shown) or NOTHING


def _longest(configs: Sequence[ConfigResult]) -> list[MethodResult]:
    """Return each method at the longest budget it is compared at."""
    found = [method_results(label, some) for label, some in methods_of(configs).items()]
    return [longest(results) for results in found if results]


def _setting(config: ConfigResult) -> tuple[str, str]:
    blocks, budget = map(number, config.setting)
    macro = "" if config.macro_steps is None else f", h_h = {config.macro_steps}"
    return blocks + macro, budget


def _kinds(config: ConfigResult) -> str:
    total = config.kinds.total()
    # Ties by name: the order of rows must not show.
    counted = sorted(config.kinds.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{kind} {n / total:.0%}" for kind, n in counted) or NOTHING


def _share(solved: np.ndarray) -> str:
    if not len(solved):
        return NOTHING
    low, high = wilson(int(solved.sum()), len(solved))
    interval = f"({100 * low:.0f} to {100 * high:.0f})"
    return f"{100 * solved.mean():.1f} {interval}, n = {len(solved)}"
