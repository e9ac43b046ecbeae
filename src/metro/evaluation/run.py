"""Queries of a benchmark planned in its world: rows out, resumable."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from metro.core.planner import MetroPlanner
from metro.data.collect.spec import library_versions
from metro.data.corpus import Corpus
from metro.envs.rendering import find_renderer
from metro.errors import BenchmarkError
from metro.evaluation.context import EvalContext
from metro.evaluation.queries import Query, QuerySet
from metro.evaluation.records import (
    Setting,
    append_records,
    read_records,
    run_key,
    to_json,
)
from metro.planners.cem import CEMSettings
from metro.planners.closed_loop import (
    MicroPlanner,
    Rollout,
    Seconds,
    SubgoalSelector,
    run_rollouts,
    surviving,
)
from metro.planners.method_names import HIERARCHICAL_METHODS, MODEL_METHODS
from metro.planners.micro import CEMPlanner
from metro.planners.open_loop import NoSelector, RandomPlanner, ReplayPlanner
from metro.planners.selectors import (
    CommittedSelector,
    GoalSelector,
    MetroSelector,
    OracleSelector,
    TimeIndexedSelector,
)
from metro.types import Env
from metro.version import commit

Records = list[dict[str, Any]]
SuccessProgress = Callable[[int, int, int], None]
"""Called with queries (done, total) and how many of them succeeded."""


def evaluate(
    context: EvalContext,
    setting: Setting,
    queries: QuerySet | Sequence[Query],
    path: Path,
    *,
    batch: int = 25,
    progress: SuccessProgress | None = None,
) -> Records:
    """Plan every query in its world; append a row each, and return them in order.

    Rows that the file has already are not planned again.
    """
    asked = as_query_set(queries)
    context.check(setting, asked)
    check_queries(context.corpus, asked)
    told = describe(context, asked, setting)
    done = {run_key(row): row for row in read_records(path)}
    wanted = [run_key(told | to_json(setting, query)) for query in asked]
    left = [q for q, key in zip(asked, wanted, strict=True) if key not in done]
    for rows in answer(context, setting, left, told, batch=batch):
        append_records(rows, path)
        done |= {run_key(row): row for row in rows}
        if progress is not None:
            answered = [done[key] for key in wanted if key in done]
            solved = sum(row["frames_to_success"] is not None for row in answered)
            progress(len(answered), len(wanted), solved)
    return [done[key] for key in wanted]


def as_query_set(queries: QuerySet | Sequence[Query]) -> QuerySet:
    """Return queries that are no file's as a set without a name."""
    if isinstance(queries, QuerySet):
        return queries
    return QuerySet(tuple(queries), "", "")


def check_queries(corpus: Corpus, queries: QuerySet) -> None:
    """Raise `BenchmarkError` at the first query that the corpus does not have."""
    for query in queries:
        known = 0 <= query.episode < corpus.num_episodes
        length = int(corpus.lengths[query.episode]) if known else 0
        if not 0 <= query.start < query.goal < length:
            raise BenchmarkError(
                f"{corpus.name} has no query {query.episode},{query.start},"
                f"{query.goal}: {corpus.num_episodes} episodes, {length} frames in "
                f"that one. Record the corpus that the queries are from."
            )


def describe(
    context: EvalContext, queries: QuerySet, setting: Setting
) -> dict[str, Any]:
    """Return what every row says about where it comes from."""
    model, corpus = context.model, context.corpus
    graph = context.graph if setting.waypoint_budget is not None else None
    return {
        "benchmark": context.benchmark.name,
        "model": {"name": model.name, "family": model.family, "digest": model.digest}
        if setting.method in MODEL_METHODS
        else None,
        "corpus": {
            "name": Path(corpus.name).name,
            "digest": corpus.digest,
            "episodes": corpus.num_episodes,
        },
        "trained_on_corpus": _trained_on(context, setting),
        "macro": _macro(context, setting),
        "queries": {"name": queries.name, "digest": queries.digest},
        "graph": None if graph is None else graph.latents.digest,
        "graph_options": None
        if graph is None
        else {
            "num_neighbours": graph.num_neighbours,
            "quantile": graph.pricing.quantile,
        },
        "rendering": model.rendering,
        "device": str(model.device),
        "processor": torch.backends.cpu.get_cpu_capability(),
        "renderer": str(find_renderer(context.benchmark)),
        "versions": library_versions() | {"commit": commit()},
    } | context.remarks()


def _trained_on(context: EvalContext, setting: Setting) -> bool | None:
    """Return whether the model has seen this recording; None: its file does not say."""
    if setting.method not in MODEL_METHODS:
        return None
    seen = (context.model.notes.get("corpus") or {}).get("digest")
    return None if seen is None else bool(seen == context.corpus.digest)


def _macro(context: EvalContext, setting: Setting) -> dict[str, str] | None:
    if setting.method not in HIERARCHICAL_METHODS or context.macro is None:
        return None
    return {"name": context.macro.name, "digest": context.macro.digest}


def answer(
    context: EvalContext,
    setting: Setting,
    queries: Sequence[Query],
    told: dict[str, Any],
    *,
    batch: int,
) -> Iterator[Records]:
    """Yield the rows of every batch of queries."""
    for first in range(0, len(queries), batch):
        rows = _answer_together(context, setting, queries[first : first + batch])
        context.forget_routes()
        yield [told | row for row in rows]


def _answer_together(
    context: EvalContext, setting: Setting, queries: Sequence[Query]
) -> Records:
    worlds = context.worlds(len(queries))
    attempts = [
        make_rollout(context, setting, query, world)
        for query, world in zip(queries, worlds, strict=True)
    ]
    rows = list(_outcomes(context, setting, queries, attempts))
    context.discard(*(a.world for a in attempts if a.error is not None))
    return rows


def failed_records(
    setting: Setting, queries: Sequence[Query], told: dict[str, Any], error: str
) -> Records:
    """Return rows of queries that could not be planned, with the reason."""
    nothing = {name: 0.0 for name in vars(Seconds())}
    return [
        told
        | to_json(setting, query)
        | {
            "frames_to_success": None,
            "is_presolved": bool(query.is_presolved),
            "demonstration_frames": query.demonstration_frames,
            "tags": [],
            "error": error,
            "kinds": {},
            "seconds": nothing,
            "batch": len(queries),
        }
        for query in queries
    ]


def plan_one(context: EvalContext, setting: Setting, query: Query) -> Rollout:
    """Plan one query, keeping every moment and picture; leaves no row."""
    (world,) = context.worlds(1)
    attempt = make_rollout(context, setting, query, world)
    actor = make_micro_planner(context, setting, [query])
    run_rollouts([attempt], actor, step_budget=setting.step_budget, record=True)
    return attempt


def _outcomes(
    context: EvalContext,
    setting: Setting,
    queries: Sequence[Query],
    attempts: list[Rollout],
) -> Iterator[dict[str, Any]]:
    actor = make_micro_planner(context, setting, queries)
    seconds = run_rollouts(attempts, actor, step_budget=setting.step_budget)
    shared = {name: spent / len(queries) for name, spent in vars(seconds).items()}
    for query, attempt in zip(queries, attempts, strict=True):
        shared["search"] = _search_seconds(context, setting, query)
        yield to_json(setting, query) | {
            "frames_to_success": attempt.frames_to_success,
            "is_presolved": attempt.is_presolved,
            "demonstration_frames": query.demonstration_frames,
            "tags": _tags(context, query),
            "error": attempt.error,
            "kinds": dict(attempt.kinds),
            "seconds": {name: round(spent, 5) for name, spent in shared.items()},
            "batch": len(queries),
        }


def _search_seconds(context: EvalContext, setting: Setting, query: Query) -> float:
    if setting.waypoint_budget is None:
        return 0.0
    return context.routes_for(setting.waypoint_budget, query)[1]


def _tags(context: EvalContext, query: Query) -> list[str]:
    """Return the word that the benchmark has for the kind of start."""
    told = context.benchmark.start_tag
    if not told:
        return []
    row = context.corpus.row(context.frame_of(query.episode, query.start))
    value = np.asarray(row[told["column"]]).ravel()[told["index"]]
    return [told["above"] if value > told["limit"] else told["below"]]


def make_rollout(
    context: EvalContext, setting: Setting, query: Query, world: Env
) -> Rollout:
    """Return a query at its start in ``world``, with the guide of its method.

    A world that dies on the way there marks the attempt.
    """
    corpus = context.corpus
    start, goal = (
        corpus.row(context.frame_of(query.episode, step))
        for step in (query.start, query.goal)
    )
    first = corpus.frames(query.episode)[query.start]
    attempt = Rollout(world, first, _guide(context, setting, query), is_presolved=False)
    with surviving(attempt):
        world.reset(0)
        world.set_state(start)
        world.set_goal(goal)
        attempt.is_presolved = world.is_solved()
    return attempt


def _guide(context: EvalContext, setting: Setting, query: Query) -> SubgoalSelector:
    hop = setting.plan_blocks * context.benchmark.action_block
    if setting.method in HIERARCHICAL_METHODS:
        hierarchy = context.hierarchy_for(setting, query.goal_distance)
        goal = context.own_latents(query)[-1]
        seed = setting.seed_of(query)
        return hierarchy.guide(goal, seed=seed, episode=query.episode)
    if setting.waypoint_budget is not None:
        planner = MetroPlanner(context.routes_for(setting.waypoint_budget, query)[0])
        is_metro = setting.method == "metro"
        return MetroSelector(planner) if is_metro else CommittedSelector(planner)
    if setting.method == "flat":
        goal = context.corpus.frames(query.episode)[query.goal]
        return GoalSelector(context.model.encode(goal[None])[0])
    if setting.method == "oracle":
        return OracleSelector(context.own_latents(query), hop)
    if setting.method == "waypoints":
        return TimeIndexedSelector(context.own_latents(query), hop)
    return NoSelector()


def make_micro_planner(
    context: EvalContext, setting: Setting, queries: Sequence[Query]
) -> MicroPlanner:
    """Return encoder and micro planner of a batch of queries."""
    frames = setting.plan_blocks * context.benchmark.action_block
    seeds = [setting.seed_of(query) for query in queries]
    if setting.method in HIERARCHICAL_METHODS:
        return context.hierarchy_for(setting, queries[0].goal_distance).actor(seeds)
    if setting.method in MODEL_METHODS:
        iterations = context.benchmark.cem_iterations
        settings = CEMSettings(setting.plan_blocks, iterations=iterations)
        return CEMPlanner(
            context.model, settings, seeds, action_stats=context.action_stats
        )
    if setting.method == "random":
        return RandomPlanner(context.benchmark.action_size, frames, seeds)
    actions = np.nan_to_num(context.corpus.column("action").astype(np.float32))
    scripts = []
    for query in queries:
        first = context.frame_of(query.episode, query.start)
        end = context.frame_of(query.episode, query.goal)
        scripts.append(actions[first : end if setting.method == "replay" else first])
    return ReplayPlanner(scripts, frames)
