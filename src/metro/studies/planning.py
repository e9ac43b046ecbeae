"""Studies that plan queries: what they plan, and the loop that resumes them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metro.analysis.episode_results import load_records
from metro.evaluation.context import EvalConfig, EvalContext
from metro.evaluation.draw_queries import find_queries
from metro.evaluation.metadata import row_metadata
from metro.evaluation.queries import QuerySet
from metro.evaluation.records import (
    Record,
    Setting,
    append_records,
    by_key,
    read_records,
    run_key,
    to_json,
)
from metro.evaluation.run import SuccessProgress, evaluate
from metro.evaluation.settings import choose_settings
from metro.planners.methods.metro import METRO
from metro.types import ProgressBar


@dataclass(frozen=True)
class PlanningConfig:
    """What a study plans with metro, and where its rows go.

    The options of ``metro study corpus-size`` say what each value means.
    """

    source: EvalConfig
    output: Path
    # The d of the paper's table on corpus size.
    goal_distance: int = 75
    plan_blocks: int = 1
    waypoint_budget: int | None = None
    step_budget: int | None = None
    planner_seeds: Sequence[int] = (7,)
    queries: Path | None = None
    first: int | None = None
    known: Sequence[Path] = ()
    batch: int = 25
    workers: int = 1

    def metro_settings(self) -> list[Setting]:
        """Return metro's settings, one per planner seed."""
        return choose_settings(
            self.source,
            METRO.name,
            goal_distance=self.goal_distance,
            plan_blocks=self.plan_blocks,
            waypoint_budget=self.waypoint_budget,
            step_budget=self.step_budget,
            planner_seeds=self.planner_seeds,
        )


def plan_in_each(
    contexts: Sequence[EvalConfig],
    settings: Sequence[Setting],
    config: PlanningConfig,
    *,
    bar: ProgressBar,
    title: str,
) -> list[Record]:
    """Plan every query with every setting in each context; return all rows.

    Rows that the file already has, or that ``metro evaluate`` wrote, are not planned
    again.
    """
    asked = (config.goal_distance, config.queries, config.first)
    queries = find_queries(config.source.benchmark, *asked)
    known = load_records(config.known)
    adopted: list[Record] = []
    # Every context is opened once before planning starts: a wrong one costs no time.
    for source in contexts:
        with source.open() as context:
            for setting in settings:
                context.check(setting, queries)
            adopted += known_rows(context, settings, queries, known)
    done = by_key(read_records(config.output), run_key)
    # Copied into the study's own file, which must be complete without `known`.
    append_records([row for row in adopted if run_key(row) not in done], config.output)
    rows: list[Record] = []
    with bar(title) as progress:
        for number, source in enumerate(contexts):
            rows += evaluate(
                source,
                settings,
                queries,
                config.output,
                batch=config.batch,
                workers=config.workers,
                progress=_over_all(progress, rows, len(contexts) - number),
            )
    return rows


def known_rows(
    context: EvalContext,
    settings: Sequence[Setting],
    queries: QuerySet,
    known: Sequence[dict[str, Any]],
) -> list[Record]:
    """Return the known rows with the run keys of a study, with its metadata added.

    Equal run keys mean the same setting, query, graph, model and corpus. A row keeps
    its results and versions.
    """
    found = by_key(known, run_key)
    if not found:
        return []
    keys = [
        run_key(described | to_json(setting, query))
        for setting in settings
        for described in [row_metadata(context, queries, setting)]
        for query in queries
    ]
    return [found[key] | dict(context.extra_metadata) for key in keys if key in found]


def _over_all(
    progress: SuccessProgress, rows: list[Record], contexts_left: int
) -> SuccessProgress:
    """Return progress over all contexts, to be called with that over one of them."""
    before = len(rows)
    solved_before = sum(row["frames_to_success"] is not None for row in rows)

    def report(done: int, total: int, solved: int) -> None:
        # Contexts to come are taken to be as large: they plan the same queries.
        progress(before + done, before + contexts_left * total, solved_before + solved)

    return report
