"""The paper's results one by one: what it reports, what our rows say, what to run."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from metro.analysis.comparison import by_task
from metro.analysis.config_results import ConfigResult, MethodResult, best_config
from metro.analysis.formatting import NOT_RUN, NOTHING, number, percent, plus_minus
from metro.analysis.grouping import group_rows
from metro.analysis.paper import PaperResult, load_paper_results
from metro.analysis.task import UNKNOWN
from metro.planners.methods.registry import method_names

HEADER = (
    *("benchmark", "model", "method", "d", "h", "H", "T"),
    *("paper", "ours", "runs", "source"),
)
_SEEDS = (7, 8, 9)
"""Planner seeds of the paper."""


@dataclass(frozen=True)
class ReproducedResult:
    """A result of the paper beside our runs of the same d and T; None: not run."""

    paper: PaperResult
    ours: MethodResult | None
    is_same_cell: bool
    """Whether (h, H) are the paper's too, or the best that we have."""

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
    ours = None
    if chosen is not None:
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


def table_row(check: ReproducedResult) -> tuple[str, ...]:
    """Return a result as a row of a table under `HEADER`."""
    paper, ours = check.paper, check.ours
    model, got, runs = paper.family, NOT_RUN, NOTHING
    if ours is not None:
        setting = ours.config.setting_text
        model, runs = ours.config.task.model, str(ours.num_runs)
        got = percent(*ours.over_seeds)
        got += "" if check.is_same_cell else f" (our best: {setting})"
    return (
        paper.benchmark,
        model,
        paper.method,
        str(paper.goal_distance),
        number(paper.plan_blocks),
        number(paper.waypoint_budget),
        str(paper.step_budget),
        plus_minus(paper.mean, paper.std),
        got,
        runs,
        paper.source,
    )


def command_of(paper: PaperResult) -> str:
    """Return the command that runs it; the reader fills in the CAPITALS.

    At T = 4 d at least, so that one run answers for every smaller budget.
    """
    name, budget, h = paper.benchmark, paper.waypoint_budget, paper.plan_blocks
    family = paper.family.upper()
    graph = (
        "" if budget is None else f" --graph {name}.metro --waypoint-budget {budget}"
    )
    if paper.method in method_names(needs_macro=True):
        graph = f" --macro {family}-MACRO --macro-steps 2"
    blocks = "" if h is None else f" --plan-blocks {h}"
    # Success latches: one long run answers for every smaller T.
    steps = max(4 * paper.goal_distance, paper.step_budget)
    seeds = " ".join(f"--planner-seed {seed}" for seed in _SEEDS)
    return (
        f"metro evaluate {name} --corpus {name}.h5 --model {family}-MODEL --method "
        f"{paper.method}{graph} --goal-distance {paper.goal_distance}{blocks} "
        f"--step-budget {steps} {seeds} -o rows.jsonl"
    )


def command_of_config(config: ConfigResult) -> str:
    """Return the command of a configuration; the reader fills in the CAPITALS."""
    task, name = config.task, config.task.benchmark
    words = [f"metro evaluate {name} --corpus {task.corpus}"]
    method, option = config.key.name, config.key.option
    # Such methods ignore the model, but the option is required.
    model = task.model if method in method_names(needs_model=True) else "ANY-MODEL"
    words += [f"--model {model} --method {method}"]
    words += [f"--option {option}"] if option else []
    if method in method_names(needs_graph=True):
        words += [f"--graph GRAPH.metro --waypoint-budget {config.waypoint_budget}"]
    if method in method_names(needs_macro=True):
        words += [f"--macro MACRO.safetensors --macro-steps {config.macro_steps}"]
    words += [f"--goal-distance {task.goal_distance}"]
    # The usual query file is found by benchmark and distance; another is named.
    if task.queries not in (UNKNOWN, f"{name}-d{task.goal_distance}.csv"):
        words += [f"--queries {task.queries}"]
    words += [f"--plan-blocks {config.plan_blocks} --step-budget {config.step_budget}"]
    words += [f"--planner-seed {seed}" for seed in sorted(set(config.seeds))]
    return " ".join([*words, "-o rows.jsonl"])
