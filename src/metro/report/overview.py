"""The first table of a report: metro and its rivals on every task, a row each."""

from collections.abc import Mapping, Sequence

from metro.analysis.comparison import (
    FLAT_BEST,
    FLAT_PAPER,
    METRO,
    MethodResult,
    difference,
    lines_of,
    methods_of,
)
from metro.analysis.config_results import ConfigResult, best_covered
from metro.analysis.episode_results import Task
from metro.analysis.formatting import NOT_RUN
from metro.analysis.paper import PaperResult
from metro.planners.methods.registry import method_names
from metro.report.document import Table
from metro.report.tables import paper_figure

_FEWEST_PAIRS = 10
"""Below it a bootstrap tells nothing: no interval is printed."""

_HEADER = (
    *("benchmark", "model", "recordings", "d", "metro", FLAT_PAPER, FLAT_BEST),
    *(
        "hierarchical (best)",
        f"metro − {FLAT_BEST}",
        "metro − hierarchical",
        "paper's metro",
    ),
)


def overview(
    tasks: Mapping[Task, Sequence[ConfigResult]], paper: Sequence[PaperResult]
) -> Table:
    """Return success within 2 d, and metro's lead on the runs that both have."""
    rows = tuple(_row(task, cells, paper) for task, cells in tasks.items())
    runs = [row for cells in tasks.values() for cell in cells for row in cell.outcomes]
    seeds = ", ".join(map(str, sorted({row.seed for row in runs})))
    commits = ", ".join(sorted({row.commit for row in runs}))
    caption = (
        f"Success within T = 2 d in percent [95 %], n = queries x seeds; h: of plain "
        f"CEM, the best of those that were run on as many queries. Differences are "
        f"over the pairs of runs that both have, without an interval below "
        f"{_FEWEST_PAIRS} pairs. hierarchical: the best of those with most runs. The "
        f"paper's metro has its own T. Planner seeds {seeds}; query files "
        f"are named in the sections; commit {commits}."
    )
    return Table(_HEADER, rows, caption)


def _row(
    task: Task, cells: Sequence[ConfigResult], paper: Sequence[PaperResult]
) -> tuple[str, ...]:
    chosen = methods_of(cells)
    lines = [line for label, some in chosen.items() for line in lines_of(label, some)]
    short = 2 * task.goal_distance
    metro, plain, flat = (
        _find(lines, label, short) for label in (METRO, FLAT_PAPER, FLAT_BEST)
    )
    rival = _best_hierarchical(lines, short)
    return (
        *(task.benchmark, task.model, task.recordings, str(task.goal_distance)),
        *(_figure(line) for line in (metro, plain)),
        _figure(flat) + _tried(flat, chosen[FLAT_BEST]),
        _figure(rival) if rival is None else f"{rival.label}: {_figure(rival)}",
        *(_gain(metro, other) for other in (flat, rival)),
        paper_figure(task, METRO, short, paper),
    )


def _best_hierarchical(
    lines: Sequence[MethodResult], step_budget: int
) -> MethodResult | None:
    """Return the best of the baselines as their authors run them, of most runs."""
    found = [
        line
        for line in lines
        if line.label in method_names(needs_macro=True)
        and line.step_budget == step_budget
    ]
    return max(found, key=lambda line: (line.num_runs, line.success), default=None)


def _find(
    lines: Sequence[MethodResult], label: str, step_budget: int
) -> MethodResult | None:
    found = [
        line
        for line in lines
        if line.label == label and line.step_budget == step_budget
    ]
    return found[0] if found else None


def _figure(line: MethodResult | None) -> str:
    if line is None:
        return NOT_RUN
    low, high = (f"{100 * end:.0f}" for end in line.interval)
    return f"{100 * line.success:.1f} [{low}, {high}], n = {line.num_runs}"


def _tried(line: MethodResult | None, cells: Sequence[ConfigResult]) -> str:
    """Return which h won, and of which it is the best."""
    if line is None:
        return ""
    able = best_covered(
        [cell for cell in cells if cell.step_budget >= line.step_budget]
    )
    blocks = ", ".join(map(str, sorted({cell.plan_blocks for cell in able})))
    return f", h = {line.cell.plan_blocks} of {blocks}"


def _gain(metro: MethodResult | None, other: MethodResult | None) -> str:
    pair = difference(metro, other) if metro and other else None
    if pair is None:
        return NOT_RUN
    gain = f"{100 * pair.gain:+.1f}"
    if pair.num_pairs < _FEWEST_PAIRS:
        return f"{gain} ({pair.num_pairs} pairs)"
    low, high = (f"{100 * end:+.0f}" for end in pair.interval)
    return f"{gain} [{low}, {high}], {pair.num_pairs} pairs"
