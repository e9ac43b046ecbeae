"""The tables of a report, one function each: cells of a task in, a `Table` out."""

from collections.abc import Iterable, Sequence

import numpy as np

from metro.analysis.comparison import (
    FLAT_BEST,
    METRO,
    MethodResult,
    budgets_of,
    differences,
    lines_of,
    longest,
    methods_of,
    paper_of,
)
from metro.analysis.config_results import ConfigResult, front
from metro.analysis.episode_results import PHASES, PLANNING, UNKNOWN, Task
from metro.analysis.formatting import NOT_RUN, NOTHING, paper_percent, percent
from metro.analysis.paper import PaperResult
from metro.analysis.statistics import arrival_ratio, wilson
from metro.errors import short
from metro.report.document import Table

_UNTAGGED = "untagged"


def headline(cells: Sequence[ConfigResult], paper: Sequence[PaperResult]) -> Table:
    """Return each method's success within T, with the paper's figure beside it."""
    rows, task = [], cells[0].task
    for label, some in methods_of(cells).items():
        lines = lines_of(label, some)
        rows += [_headline_row(line, paper) for line in lines]
        if not lines:
            budgets = budgets_of(task.goal_distance)
            known = paper_figure(task, label, budgets[0], paper)
            named = ", ".join(map(str, budgets))
            rows.append(
                (label, NOTHING, NOTHING, named, NOT_RUN, *[NOTHING] * 4, known)
            )
    header = ("method", "h", "H", "T", "success", "95 %", "mean ± std", "open starts")
    return Table((*header, "runs", "paper"), tuple(rows), source_of(cells))


def paired(cells: Sequence[ConfigResult]) -> Table | None:
    """Return metro against the others on the same queries and seeds; None: no pair."""
    rows = tuple(
        (
            f"{pair.first} − {pair.second}",
            str(pair.step_budget),
            f"{100 * pair.gain:+.1f}",
            f"{100 * pair.interval.low:+.1f} to {100 * pair.interval.high:+.1f}",
            f"{pair.only_first} : {pair.only_second}",
            p_value_text(pair.p_value),
            str(pair.num_pairs),
        )
        for pair in differences(cells)
    )
    header = ("difference", "T", "points", "95 %", "only one solved", "p", "pairs")
    return Table(header, rows, source_of(cells)) if rows else None


def arrivals(cells: Sequence[ConfigResult], paper: Sequence[PaperResult]) -> Table:
    """Return how soon each method arrives, and which sub-goals it headed for."""
    rows = []
    for line in _longest(cells):
        told = paper_of(line.cell.task, line.label, line.step_budget, paper)
        named = [cell.arrival_ratio for cell in told]
        rows.append(
            (
                line.label,
                str(line.step_budget),
                str(line.num_runs),
                _number(arrival_of(line)),
                _number(next((ratio for ratio in named if ratio is not None), None)),
                _kinds(line.cell),
            )
        )
    header = ("method", "T", "runs", "arrival ratio", "paper", "kinds of sub-goals")
    return Table(header, tuple(rows), source_of(cells))


def arrival_of(line: MethodResult) -> float | None:
    """Return the arrival ratio of a method within T, starts already solved left out."""
    cell = line.cell
    counted = ~cell.is_presolved & cell.solved(line.step_budget)
    return arrival_ratio(cell.frames[counted], cell.demonstration[counted])


def times(cells: Sequence[ConfigResult]) -> Table:
    """Return seconds of an episode by phase, and the macro planner's share."""
    rows = []
    for line in _longest(cells):
        spent = line.cell.seconds
        share = line.cell.macro_overhead
        planning = sum(spent[phase] for phase in PLANNING)
        rows.append(
            (
                line.label,
                str(line.cell.step_budget),
                str(line.num_runs),
                *(_number(spent[phase], 3) for phase in PHASES),
                _number(planning, 3),
                _number(sum(spent.values()) - planning, 3),
                NOTHING if share is None else f"{share:.1%}",
            )
        )
    header = (
        "method",
        "T",
        "runs",
        *PHASES,
        "planning",
        "environment",
        "macro overhead",
    )
    return Table(
        header,
        tuple(rows),
        "Seconds an episode, mean over runs at their whole budget T, at the batch size "
        f"they were run with. {source_of(cells)}",
    )


def fronts(cells: Sequence[ConfigResult]) -> Table:
    """Return the (h, H, T) of metro and flat that nobody beats in both."""
    rows, chosen = [], methods_of(cells)
    for label in (METRO, FLAT_BEST):
        for point in front(chosen[label]):
            setting = _setting(point.cell)
            success = f"{100 * point.success:.1f}"
            seconds = _number(point.seconds, 3)
            rows.append((label, *setting, str(point.step_budget), success, seconds))
    header = ("method", "h", "H", "T", "success", "seconds of planning")
    return Table(header, tuple(rows), source_of(cells))


def by_tag(cells: Sequence[ConfigResult]) -> Table | None:
    """Return the success of each kind of query; None: no row has a tag."""
    found = [row.tags for cell in cells for row in cell.outcomes]
    tags = sorted({tag for some in found for tag in some})
    kinds = [*tags, *([_UNTAGGED] if not all(found) else [])]
    rows = []
    for line in _longest(cells):
        solved = line.cell.solved(line.step_budget)
        told = [row.tags or (_UNTAGGED,) for row in line.cell.outcomes]
        shares = (_share(solved[[kind in some for some in told]]) for kind in kinds)
        rows.append((line.label, str(line.step_budget), *shares))
    return (
        Table(("method", "T", *kinds), tuple(rows), source_of(cells)) if tags else None
    )


def source_of(cells: Iterable[ConfigResult]) -> str:
    """Return what a figure is worth little without: n, seeds, queries, commit."""
    rows = [row for cell in cells for row in cell.outcomes]
    task = rows[0].task
    queries = len({row.query for row in rows})
    seeds = sorted({row.seed for row in rows})
    commits = ", ".join(sorted({row.commit for row in rows}))
    digest = task.digests[2]
    shown = "" if digest == UNKNOWN else f" ({short(digest)})"
    return (
        f"n = {queries} queries x {len(seeds)} planner seed{'s'[: len(seeds) - 1]} "
        f"({', '.join(map(str, seeds))}); query file {task.queries}{shown}; "
        f"commit {commits}."
    )


def paper_figure(
    task: Task, label: str, step_budget: int, paper: Sequence[PaperResult]
) -> str:
    """Return the paper's figures at this d, with their T if it is not ours."""
    found = paper_of(task, label, step_budget, paper)
    same = [cell for cell in found if cell.step_budget == step_budget]
    shown = [
        paper_percent(cell) + ("" if same else f" (T = {cell.step_budget})")
        for cell in same or found
    ]
    return "; ".join(shown) or NOTHING


def _headline_row(line: MethodResult, paper: Sequence[PaperResult]) -> tuple[str, ...]:
    low, high = line.interval
    left = line.without_presolved
    return (
        line.label,
        *_setting(line.cell),
        str(line.step_budget),
        f"{100 * line.success:.1f}",
        f"{100 * low:.1f} to {100 * high:.1f}",
        percent(*line.over_seeds),
        NOTHING if left is None else f"{100 * left:.1f}",
        str(line.num_runs),
        paper_figure(line.cell.task, line.label, line.step_budget, paper),
    )


def _longest(cells: Sequence[ConfigResult]) -> list[MethodResult]:
    """Return each method at the longest budget it is compared at."""
    found = [lines_of(label, some) for label, some in methods_of(cells).items()]
    return [longest(lines) for lines in found if lines]


def _setting(cell: ConfigResult) -> tuple[str, str]:
    blocks, budget = (NOTHING if part is None else str(part) for part in cell.setting)
    macro = "" if cell.macro_steps is None else f", h_h = {cell.macro_steps}"
    return blocks + macro, budget


def _kinds(cell: ConfigResult) -> str:
    total = cell.kinds.total()
    counted = sorted(cell.kinds.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{kind} {n / total:.0%}" for kind, n in counted) or NOTHING


def _share(solved: np.ndarray) -> str:
    if not len(solved):
        return NOTHING
    low, high = wilson(int(solved.sum()), len(solved))
    interval = f"({100 * low:.0f} to {100 * high:.0f})"
    return f"{100 * solved.mean():.1f} {interval}, n = {len(solved)}"


def _number(value: float | None, digits: int = 2) -> str:
    return NOTHING if value is None else f"{value:.{digits}f}"


def p_value_text(value: float) -> str:
    """Return a p value, never as 0."""
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
