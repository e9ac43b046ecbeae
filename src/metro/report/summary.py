"""The headline of every task as plain values, for programs."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from metro.analysis.comparison import (
    MethodResult,
    by_task,
    lines_of,
    methods_of,
    paper_of,
)
from metro.analysis.grouping import make_cells
from metro.analysis.paper import PaperResult, load_paper_cells


def headline_rows(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the headline of every task as plain values, for JSON."""
    paper = load_paper_cells()
    return [
        _plain(line, paper)
        for cells in by_task(make_cells(rows)).values()
        for label, some in methods_of(cells).items()
        for line in lines_of(label, some)
    ]


def _plain(line: MethodResult, paper: Sequence[PaperResult]) -> dict[str, Any]:
    task, cell = line.cell.task, line.cell
    mean, std = line.over_seeds
    return {
        "benchmark": task.benchmark,
        "model": task.model,
        "family": task.family,
        "episodes": task.episodes,
        "goal_distance": task.goal_distance,
        "method": line.label,
        "plan_blocks": cell.plan_blocks,
        "waypoint_budget": cell.waypoint_budget,
        "step_budget": line.step_budget,
        "success": line.success,
        "interval": list(line.interval),
        "mean": mean,
        "std": std,
        "success_of_unsolved": line.without_presolved,
        "runs": line.num_runs,
        "seeds": sorted(set(cell.seeds)),
        "queries": task.queries,
        "commits": sorted({row.commit for row in cell.outcomes}),
        "paper": [
            {"step_budget": told.step_budget, "mean": told.mean, "std": told.std}
            for told in paper_of(task, line.label, line.step_budget, paper)
        ],
    }
