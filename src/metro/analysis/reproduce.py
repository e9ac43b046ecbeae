"""The paper's cells one by one: what it reports, what rows of ours say, what to run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from metro.analysis.comparison import MethodResult, by_task
from metro.analysis.config_results import ConfigResult, best_cell
from metro.analysis.formatting import NOT_RUN, paper_percent, percent
from metro.analysis.grouping import make_cells
from metro.analysis.paper import PaperResult, load_paper_cells
from metro.planners.methods.registry import method_names

HEADER = (
    *("benchmark", "model", "method", "d", "h", "H", "T"),
    *("paper", "ours", "runs", "source"),
)
_SEEDS = (7, 8, 9)
"""Planner seeds of the paper."""


@dataclass(frozen=True)
class ReproducedResult:
    """A cell of the paper beside ours.

    Attributes:
        paper: What the paper reports.
        ours: Our runs of the same d and T; None: not run.
        is_same_cell: Whether (h, H) are the paper's too, or the best that we have.
    """

    paper: PaperResult
    ours: MethodResult | None
    is_same_cell: bool

    @property
    def command(self) -> str | None:
        """What would run the cell; None: it was run."""
        return None if self.ours else command_of(self.paper)

    def to_json(self) -> dict[str, Any]:
        """Return plain values; success in percent, as the paper has it."""
        plain = {"paper": asdict(self.paper), "command": self.command, "ours": None}
        if self.ours is None:
            return plain
        cell, (mean, std) = self.ours.cell, self.ours.over_seeds
        return plain | {
            "ours": {
                "model": cell.task.model,
                "corpus": cell.task.corpus,
                "plan_blocks": cell.plan_blocks,
                "waypoint_budget": cell.waypoint_budget,
                "is_same_cell": self.is_same_cell,
                "mean": 100 * mean,
                "std": None if std is None else 100 * std,
                "runs": self.ours.num_runs,
            }
        }


def reproduce(rows: Iterable[Mapping[str, Any]]) -> list[ReproducedResult]:
    """Return every cell of the paper with what rows say about it.

    At the paper's (h, H, T) if it was run, else the best of our cells at that d and T.
    A cell has a check for every task (model, recordings, queries) that has runs of it.
    """
    tasks = by_task(make_cells(rows)).values()
    checks = []
    for paper in load_paper_cells():
        found = [_check(paper, cells) for cells in tasks]
        run = [check for check in found if check.ours is not None]
        checks += run or [ReproducedResult(paper, None, is_same_cell=False)]
    return checks


def _check(paper: PaperResult, cells: Sequence[ConfigResult]) -> ReproducedResult:
    able = [cell for cell in cells if _answers(cell, paper)]
    same = [cell for cell in able if _is_same(cell, paper)]
    chosen = best_cell(same or able, paper.step_budget)
    line = (
        None
        if chosen is None
        else MethodResult(paper.method, chosen, paper.step_budget)
    )
    return ReproducedResult(paper, line, is_same_cell=bool(same))


def _answers(cell: ConfigResult, paper: PaperResult) -> bool:
    task = cell.task
    ours = (task.benchmark, task.family, cell.method, task.goal_distance)
    theirs = (paper.benchmark, paper.family, paper.method, paper.goal_distance)
    return ours == theirs and cell.step_budget >= paper.step_budget


def _is_same(cell: ConfigResult, paper: PaperResult) -> bool:
    """Return whether h and H are the paper's, where it tells them."""
    blocks = paper.plan_blocks in (None, cell.plan_blocks)
    return blocks and paper.waypoint_budget in (None, cell.waypoint_budget)


def table_of(checks: Iterable[ReproducedResult]) -> list[tuple[str, ...]]:
    """Return the checks as lines under `HEADER`."""
    return [_line(check) for check in checks]


def _line(check: ReproducedResult) -> tuple[str, ...]:
    paper, ours = check.paper, check.ours
    asked = (paper.goal_distance, paper.plan_blocks, paper.waypoint_budget)
    numbers = [
        "-" if value is None else str(value) for value in (*asked, paper.step_budget)
    ]
    model, got, runs = paper.family, NOT_RUN, "-"
    if ours is not None:
        setting = ours.cell.name.partition(", ")[2]
        model, runs = ours.cell.task.model, str(ours.num_runs)
        got = percent(*ours.over_seeds)
        got += "" if check.is_same_cell else f" (our best: {setting})"
    figures = (paper_percent(paper), got, runs, paper.source)
    return (paper.benchmark, model, paper.method, *numbers, *figures)


def command_of(paper: PaperResult) -> str:
    """Return the command that runs a cell; CAPITALS are for the reader to fill in.

    At T = 4 d at least, so that one run answers for every smaller budget.
    """
    name, budget = paper.benchmark, paper.waypoint_budget
    model = f"{paper.family.upper()}-MODEL"
    graph = ""
    if budget is not None:
        graph = f" --graph {name}.metro --waypoint-budget {budget}"
    if paper.method in method_names(needs_macro=True):
        graph = f" --macro {paper.family.upper()}-MACRO --macro-steps 2"
    told = paper.plan_blocks
    blocks = "" if told is None else f" --plan-blocks {told}"
    steps = max(4 * paper.goal_distance, paper.step_budget)
    seeds = " ".join(f"--planner-seed {seed}" for seed in _SEEDS)
    return (
        f"metro evaluate {name} --corpus {name}.h5 --model {model} --method "
        f"{paper.method}{graph} --goal-distance {paper.goal_distance}{blocks} "
        f"--step-budget {steps} {seeds} -o rows.jsonl"
    )
