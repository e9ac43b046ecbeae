"""Queries looked at in their world, and the settings that answer them."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from metro.benchmark import Benchmark, benchmarks_folder, load_benchmark
from metro.data.corpus import Corpus
from metro.envs import open_env
from metro.errors import BenchmarkError
from metro.evaluation.context import EvalConfig
from metro.evaluation.queries import (
    Query,
    QuerySet,
    load_queries,
    sample_queries,
)
from metro.evaluation.records import Setting
from metro.planners.hierarchical.budgets import STAGES
from metro.planners.method_names import GRAPH_METHODS, HIERARCHICAL_METHODS
from metro.storage.artefacts import load_graph
from metro.types import Env, Progress

MICRO_BLOCKS = 2
"""Blocks that the micro level of the hierarchical methods plans."""


def draw_queries(
    benchmark: Benchmark,
    corpus: Corpus,
    *,
    goal_distance: int,
    count: int,
    seed: int,
    progress: Progress | None = None,
) -> list[Query]:
    """Return sampled queries, each looked at in its world."""
    corpus.require(benchmark)
    drawn = sample_queries(
        corpus.lengths, goal_distance=goal_distance, count=count, seed=seed
    )
    world = open_env(benchmark, image_size=corpus.image_size)
    try:
        looked = []
        for query in drawn:
            looked.append(look_at(world, corpus, query))
            if progress is not None:
                progress(len(looked), count)
    finally:
        world.close()
    return looked


def look_at(world: Env, corpus: Corpus, query: Query) -> Query:
    """Return a query with what its world says about the recording.

    Whether the start meets the goal, and after how many frames the recording first
    does: the world put into each recorded state in turn.
    """
    first = int(corpus.offsets[query.episode])
    world.reset(0)
    met = []
    for step in range(query.start, query.goal + 1):
        world.set_state(corpus.row(first + step))
        if step == query.start:
            world.set_goal(corpus.row(first + query.goal))
        met.append(world.is_solved())
    later = [step for step, solved in enumerate(met) if solved and step > 0]
    return replace(
        query, is_presolved=met[0], demonstration_frames=later[0] if later else None
    )


def find_queries(
    benchmark: str, goal_distance: int, path: Path | None, first: int | None = None
) -> QuerySet:
    """Return the (``first``) queries of a file, or the benchmark's for a distance.

    Raise `BenchmarkError` where the file has other distances than the one asked for.
    """
    load_benchmark(benchmark)  # a name that is wrong is said first
    own = benchmarks_folder() / "queries" / f"{benchmark}-d{goal_distance}.csv"
    found = load_queries(path or own)
    for query in found:
        if query.goal_distance != goal_distance:
            raise BenchmarkError(
                f"{found.name} has goals {query.goal_distance} frames away, asked for "
                f"{goal_distance}. Give --goal-distance {query.goal_distance}."
            )
    return found if first is None else found.first(first)


def choose_settings(  # noqa: PLR0913  (one argument a setting, as the verb has them)
    source: EvalConfig,
    method: str,
    *,
    plan_blocks: Sequence[int] | None,
    waypoint_budgets: Sequence[int] | None,
    step_budget: int,
    planner_seeds: Sequence[int],
    macro_steps: int | None = None,
    option: str | None = None,
) -> list[Setting]:
    """Return the settings of a method; H is the graph's own if not given, h is 1.

    The hierarchical methods plan 2 blocks, and refuse others; they take 1 macro step
    if not told, the staged one always 2.
    """
    usual = [MICRO_BLOCKS] if method in HIERARCHICAL_METHODS else [1]
    plan_blocks = usual if plan_blocks is None else plan_blocks
    if method in HIERARCHICAL_METHODS:
        if list(plan_blocks) != usual:
            raise BenchmarkError(
                f"{method} plans {MICRO_BLOCKS} blocks, as its authors do: leave out "
                f"--plan-blocks, got {plan_blocks[0]}."
            )
        macro_steps = _macro_steps(method, macro_steps)
    budgets: Sequence[int | None] = [None]
    if method in GRAPH_METHODS:
        if source.graph is None:
            raise BenchmarkError(f"method {method} needs a graph: metro build LATENTS.")
        budgets = waypoint_budgets or [load_graph(source.graph).waypoint_budget]
    elif waypoint_budgets:
        budgets = waypoint_budgets  # refused by `Setting`, with a reason
    return [
        Setting(method, blocks, budget, step_budget, seed, macro_steps, option)
        for budget in budgets
        for blocks in plan_blocks
        for seed in planner_seeds
    ]


def _macro_steps(method: str, asked: int | None) -> int:
    if method != "hi-lewm-c-staged":
        return 1 if asked is None else asked
    if asked not in (None, STAGES):
        raise BenchmarkError(
            f"{method} has {STAGES} stages: leave out --macro-steps, got {asked}."
        )
    return STAGES
