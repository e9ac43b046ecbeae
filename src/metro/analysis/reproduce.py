"""The paper's results one by one: what it reports, what our rows say, what to run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from metro.analysis.comparison import MethodResult, by_task
from metro.analysis.config_results import ConfigResult, best_config
from metro.analysis.formatting import NOT_RUN, paper_percent, percent
from metro.analysis.grouping import group_rows
from metro.analysis.paper import PaperResult, load_paper_results
from metro.planners.methods.registry import method_names

HEADER = (
    *("benchmark", "model", "method", "d", "h", "H", "T"),
    *("paper", "ours", "runs", "source"),
)
_SEEDS = (7, 8, 9)
"""Planner seeds of the paper."""


@dataclass(frozen=True)
class ReproducedResult:
    """A result of the paper beside ours.

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
        """The command that runs it; None: it was run."""
        return None if self.ours else command_of(self.paper)

    def to_json(self) -> dict[str, Any]:
        """Return plain values; success in percent, as the paper has it."""
        plain = {"paper": asdict(self.paper), "command": self.command, "ours": None}
        if self.ours is None:
            return plain
        config, (mean, std) = self.ours.config, self.ours.over_seeds
        return plain | {
            "ours": {
                "model": config.task.model,
                "corpus": config.task.corpus,
                "plan_blocks": config.plan_blocks,
                "waypoint_budget": config.waypoint_budget,
                "is_same_cell": self.is_same_cell,
                "mean": 100 * mean,
                "std": None if std is None else 100 * std,
                "runs": self.ours.num_runs,
            }
        }


def reproduce(rows: Iterable[Mapping[str, Any]]) -> list[ReproducedResult]:
    """Return every result of the paper with what rows say about it.

    At the paper's (h, H, T) if it was run, else our best at that d and T, once for
    every task (model, recordings, queries) that has such runs.
    """
    tasks = by_task(group_rows(rows)).values()
    checks = []
    for paper in load_paper_results():
        found = [_check(paper, configs) for configs in tasks]
        run = [check for check in found if check.ours is not None]
        checks += run or [ReproducedResult(paper, None, is_same_cell=False)]
    return checks


def _check(paper: PaperResult, configs: Sequence[ConfigResult]) -> ReproducedResult:
    able = [config for config in configs if _answers(config, paper)]
    same = [config for config in able if _is_same(config, paper)]
    chosen = best_config(same or able, paper.step_budget)
    if chosen is None:
        return ReproducedResult(paper, None, is_same_cell=bool(same))
    ours = MethodResult(paper.method, chosen, paper.step_budget)
    return ReproducedResult(paper, ours, is_same_cell=bool(same))


def _answers(config: ConfigResult, paper: PaperResult) -> bool:
    task = config.task
    ours = (task.benchmark, task.family, config.method, task.goal_distance)
    theirs = (paper.benchmark, paper.family, paper.method, paper.goal_distance)
    # Success latches: a longer run answers for the paper's T too.
    return ours == theirs and config.step_budget >= paper.step_budget


def _is_same(config: ConfigResult, paper: PaperResult) -> bool:
    """Return whether h and H are the paper's, where it gives them."""
    blocks = paper.plan_blocks in (None, config.plan_blocks)
    return blocks and paper.waypoint_budget in (None, config.waypoint_budget)


def table_of(checks: Iterable[ReproducedResult]) -> list[tuple[str, ...]]:
    """Return the results as rows of a table under `HEADER`."""
    return [_line(check) for check in checks]


def _line(check: ReproducedResult) -> tuple[str, ...]:
    paper, ours = check.paper, check.ours
    asked = (paper.goal_distance, paper.plan_blocks, paper.waypoint_budget)
    numbers = [
        "-" if value is None else str(value) for value in (*asked, paper.step_budget)
    ]
    model, got, runs = paper.family, NOT_RUN, "-"
    if ours is not None:
        setting = ours.config.setting_text
        model, runs = ours.config.task.model, str(ours.num_runs)
        got = percent(*ours.over_seeds)
        got += "" if check.is_same_cell else f" (our best: {setting})"
    metrics = (paper_percent(paper), got, runs, paper.source)
    return (paper.benchmark, model, paper.method, *numbers, *metrics)


def command_of(paper: PaperResult) -> str:
    """Return the command that runs it; the reader fills in the CAPITALS.

    At T = 4 d at least, so that one run answers for every smaller budget.
    """
    name, budget = paper.benchmark, paper.waypoint_budget
    model = f"{paper.family.upper()}-MODEL"
    graph = ""
    if budget is not None:
        graph = f" --graph {name}.metro --waypoint-budget {budget}"
    if paper.method in method_names(needs_macro=True):
        graph = f" --macro {paper.family.upper()}-MACRO --macro-steps 2"
    h = paper.plan_blocks
    blocks = "" if h is None else f" --plan-blocks {h}"
    # Success latches: one long run answers for every smaller T.
    steps = max(4 * paper.goal_distance, paper.step_budget)
    seeds = " ".join(f"--planner-seed {seed}" for seed in _SEEDS)
    return (
        f"metro evaluate {name} --corpus {name}.h5 --model {model} --method "
        f"{paper.method}{graph} --goal-distance {paper.goal_distance}{blocks} "
        f"--step-budget {steps} {seeds} -o rows.jsonl"
    )
