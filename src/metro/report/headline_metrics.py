"""The few numbers on top of a report, read off the rows."""

from collections.abc import Mapping, Sequence

from metro.analysis.comparison import (
    FLAT_BEST,
    METRO,
    Difference,
    MethodResult,
    difference,
    lines_of,
    methods_of,
)
from metro.analysis.config_results import ConfigResult
from metro.analysis.episode_results import Task
from metro.report.document import Figure, Figures


def key_figures(tasks: Mapping[Task, Sequence[ConfigResult]], num_rows: int) -> Figures:
    """Return metro's farthest goals on every benchmark, what it costs, and rows."""
    names = sorted({task.benchmark for task in tasks})
    far = [_farthest(name, tasks) for name in names]
    counted = Figure(
        f"{num_rows:,}",
        "rows: a query, a method and a planner seed each",
        f"{len(tasks)} tasks (benchmark, model, distance) are told below.",
    )
    return Figures((*(one for one in far if one), *_overhead(tasks), counted))


def _farthest(name: str, tasks: Mapping[Task, Sequence[ConfigResult]]) -> Figure | None:
    """Return metro at the largest d of a benchmark; beside flat if both were run.

    Of several models at that d the first by name speaks, of several sets of queries
    the one where metro gains least.
    """
    found = []
    for task, cells in tasks.items():
        if task.benchmark == name:
            metro, pair = _compared(cells)
            if metro is not None:
                gain = 0.0 if pair is None else pair.gain
                rank = (-task.goal_distance, pair is None, task.model, gain)
                found.append((rank, task, metro, pair))
    if not found:
        return None
    _, task, metro, pair = min(found, key=lambda item: item[0])
    return Figure(
        f"{100 * metro.success:.0f} %",
        f"{task.benchmark}: metro, goals {task.goal_distance} frames away",
        _note(task, metro, pair),
    )


def _compared(
    cells: Sequence[ConfigResult],
) -> tuple[MethodResult | None, Difference | None]:
    """Return metro at the T at which it meets flat with most h; else at the longest.

    Of several such T the longest. Where few h were run, the best is hardly one.
    """
    chosen = methods_of(cells)
    metro = [one for one in lines_of(METRO, chosen[METRO]) if one.label == METRO]
    flat = {one.step_budget: one for one in lines_of(FLAT_BEST, chosen[FLAT_BEST])}
    given = [cell.step_budget for cell in chosen[FLAT_BEST]]

    def met(line: MethodResult) -> tuple[int, int]:
        return sum(line.step_budget <= each for each in given), line.step_budget

    for line in sorted(metro, key=met, reverse=True):
        other = flat.get(line.step_budget)
        pair = difference(line, other) if other else None
        if pair is not None:
            return line, pair
    return (metro[-1] if metro else None), None


def _note(task: Task, metro: MethodResult, pair: Difference | None) -> str:
    low, high = (f"{100 * end:.0f}" for end in metro.interval)
    told = (
        f"[{low}, {high}], T = {metro.step_budget}, n = {metro.num_runs}; "
        f"{task.model}, {task.recordings}."
    )
    if pair is None:
        return f"{told} Plain CEM was not run on these queries within this T."
    low, high = (f"{100 * end:+.0f}" for end in pair.interval)
    return (
        f"{told} {100 * pair.gain:+.0f} points [{low}, {high}] over plain CEM with its "
        f"best h, on the {pair.num_pairs} runs that both have."
    )


def _overhead(tasks: Mapping[Task, Sequence[ConfigResult]]) -> list[Figure]:
    shares = [
        share
        for cells in tasks.values()
        for cell in cells
        if cell.method == METRO and (share := cell.macro_overhead) is not None
    ]
    if not shares:
        return []
    ends = [f"{100 * share:.1f}" for share in (min(shares), max(shares))]
    spent = Figure(
        " to ".join(dict.fromkeys(ends)) + " %",
        "of planning time is metro's search, entry and walk",
        f"Least and most of {len(shares)} cells (h, H); the rest is the micro planner.",
    )
    return [spent]
