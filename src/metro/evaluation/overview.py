"""The first table of a report: metro and flat on every task, a row each."""

from collections.abc import Mapping, Sequence

from metro.evaluation.cells import Cell
from metro.evaluation.comparison import (
    FLAT_BEST,
    FLAT_PAPER,
    METRO,
    METRO_BEST,
    Line,
    contenders,
    difference,
    lines_of,
)
from metro.evaluation.document import Table
from metro.evaluation.outcomes import Task
from metro.evaluation.paper import PaperCell
from metro.evaluation.tables import NOT_RUN, paper_figure

_HEADER = (
    *("benchmark", "model", "d", "metro, T up to 4 d", "paper's metro"),
    *(
        "flat (paper), T = 2 d",
        "flat (best h), T = 2 d",
        "metro − flat (best h), T = 2 d",
    ),
)


def overview(tasks: Mapping[Task, Sequence[Cell]], paper: Sequence[PaperCell]) -> Table:
    """Return success of metro and flat, and their difference on the same runs."""
    rows = tuple(_row(task, cells, paper) for task, cells in tasks.items())
    runs = [row for cells in tasks.values() for cell in cells for row in cell.outcomes]
    seeds = ", ".join(map(str, sorted({row.seed for row in runs})))
    commits = ", ".join(sorted({row.commit for row in runs}))
    caption = (
        f"Success in percent [95 %], n = queries x seeds. Planner seeds {seeds}; query "
        f"files are named in the sections; commit {commits}."
    )
    return Table(_HEADER, rows, caption)


def _row(
    task: Task, cells: Sequence[Cell], paper: Sequence[PaperCell]
) -> tuple[str, ...]:
    lines = [
        line
        for label, some in contenders(cells).items()
        for line in lines_of(label, some)
    ]
    short = 2 * task.goal_distance
    metro, flat = (_find(lines, label, short) for label in (METRO, FLAT_BEST))
    best = [line for line in lines if line.label == METRO_BEST]
    return (
        task.benchmark,
        task.model,
        str(task.goal_distance),
        f"{_figure(best[0])}, T = {best[0].step_budget}" if best else NOT_RUN,
        paper_figure(task, METRO, 4 * task.goal_distance, paper),
        _figure(_find(lines, FLAT_PAPER, short)),
        _figure(flat),
        _gain(metro, flat),
    )


def _find(lines: Sequence[Line], label: str, step_budget: int) -> Line | None:
    found = [
        line
        for line in lines
        if line.label == label and line.step_budget == step_budget
    ]
    return found[0] if found else None


def _figure(line: Line | None) -> str:
    if line is None:
        return NOT_RUN
    low, high = (f"{100 * end:.0f}" for end in line.interval)
    return f"{100 * line.success:.1f} [{low}, {high}], n = {line.num_runs}"


def _gain(metro: Line | None, flat: Line | None) -> str:
    pair = difference(metro, flat) if metro and flat else None
    if pair is None:
        return NOT_RUN
    low, high = (f"{100 * end:+.0f}" for end in pair.interval)
    return f"{100 * pair.gain:+.1f} [{low}, {high}]"
