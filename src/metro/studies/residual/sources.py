"""From what a user asks for to latents: plan the runs, or draw the controls."""

from dataclasses import dataclass, replace
from pathlib import Path

from metro.core.latents import Latents
from metro.errors import BenchmarkError
from metro.evaluation.context import EvalConfig
from metro.evaluation.draw_queries import find_queries
from metro.evaluation.queries import QuerySet
from metro.evaluation.settings import choose_settings
from metro.models.loading import load_frozen
from metro.planners.hierarchical.hierarchy import require_macro
from metro.planners.methods.registry import find_method
from metro.storage.artefacts import load
from metro.studies.residual.measure import SearchConfig
from metro.studies.residual.sub_goals import SubGoals, collect_sub_goals
from metro.studies.residual.targets import (
    CONTROLS,
    Targets,
    random_targets,
    recorded_targets,
    require_source,
    sub_goal_targets,
)
from metro.types import Progress

_PLANNER_SEED = 7


@dataclass(frozen=True)
class Asked:
    """Which latents somebody asks for.

    Attributes:
        method: One of `SOURCES`.
        count: How many.
        seed: Of the choice.
        goal_distance: d of the runs, frames.
        num_queries: Runs: the first queries of the file.
        folder: Keeps the sub-goals of runs.
        step_budget: T of the runs, environment steps; None: 2 d.
        queries: CSV by metro queries; None: the benchmark's.
        plan_blocks: h of metro.
        waypoint_budget: H of metro, frames, also where pictures show what it
            retrieves beside others' sub-goals; None: the graph's.
        macro_steps: h_h of the hi-lewm methods; None: 1, of staged 2.
    """

    method: str
    count: int
    seed: int = 0
    goal_distance: int = 75
    num_queries: int = 10
    folder: Path = Path("out/sub-goals")
    step_budget: int | None = None
    queries: Path | None = None
    plan_blocks: int | None = None
    waypoint_budget: int | None = None
    macro_steps: int | None = None

    def __post_init__(self) -> None:
        require_source(self.method)
        if self.seed < 0:
            raise BenchmarkError(f"seed must be 0 or more, got {self.seed}.")
        if self.num_queries < 1:
            raise BenchmarkError(
                f"num_queries must be at least 1, got {self.num_queries}."
            )


def find_targets(
    source: SearchConfig,
    context: EvalConfig,
    asked: Asked,
    *,
    progress: Progress | None = None,
) -> Targets:
    """Return the latents that were asked for; runs are planned once and kept."""
    if asked.method in CONTROLS:
        loaded = load(source.latents)
        latents: Latents = getattr(loaded, "latents", loaded)
        draw = recorded_targets if asked.method == "recorded" else random_targets
        return draw(latents, count=asked.count, seed=asked.seed)
    found = find_sub_goals(context, asked, progress=progress)
    return sub_goal_targets(found, count=asked.count, seed=asked.seed)


def find_sub_goals(
    context: EvalConfig, asked: Asked, *, progress: Progress | None = None
) -> SubGoals:
    """Return all sub-goals of the runs that were asked for."""
    if find_method(asked.method).needs_macro and context.macro is None:
        require_macro(asked.method, None, load_frozen(context.model))
    (setting,) = choose_settings(
        context,
        asked.method,
        plan_blocks=None if asked.plan_blocks is None else [asked.plan_blocks],
        waypoint_budgets=[asked.waypoint_budget]
        if asked.waypoint_budget is not None and find_method(asked.method).needs_graph
        else None,
        step_budget=2 * asked.goal_distance
        if asked.step_budget is None
        else asked.step_budget,
        planner_seeds=[_PLANNER_SEED],
        macro_steps=asked.macro_steps,
    )
    queries = first_queries(context.benchmark, asked)
    with context.open() as opened:
        return collect_sub_goals(
            opened, setting, queries, asked.folder, progress=progress
        )


def first_queries(benchmark: str, asked: Asked) -> QuerySet:
    """Return the first queries of the file."""
    queries = find_queries(benchmark, asked.goal_distance, asked.queries)
    return replace(queries, queries=queries.queries[: asked.num_queries])
