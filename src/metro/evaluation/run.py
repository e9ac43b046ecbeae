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
from metro.evaluation.context import Bench
from metro.evaluation.queries import Query, QuerySet
from metro.evaluation.records import Setting, append_rows, key_of, read_rows, to_json
from metro.planners.cem import CEMSettings
from metro.planners.closed_loop import (
    Actor,
    Attempt,
    Guide,
    Seconds,
    run_attempts,
    surviving,
)
from metro.planners.method_names import HIERARCHICAL_METHODS, MODEL_METHODS
from metro.planners.micro import ModelActor
from metro.planners.open_loop import RandomActor, ScriptedActor, Unseeing
from metro.planners.selectors import (
    CommittedGuide,
    FlatGuide,
    MetroGuide,
    OracleGuide,
    WaypointGuide,
)
from metro.types import World
from metro.version import commit

Rows = list[dict[str, Any]]
Progress = Callable[[int, int, int], None]
"""Called with queries (done, total) and how many of them succeeded."""


def evaluate(
    bench: Bench,
    setting: Setting,
    queries: QuerySet | Sequence[Query],
    path: Path,
    *,
    batch: int = 25,
    progress: Progress | None = None,
) -> Rows:
    """Plan every query in its world; append a row each, and return them in order.

    Rows that the file has already are not planned again.
    """
    asked = as_query_set(queries)
    bench.check(setting, asked)
    check_queries(bench.corpus, asked)
    told = describe(bench, asked, setting)
    done = {key_of(row): row for row in read_rows(path)}
    wanted = [key_of(told | to_json(setting, query)) for query in asked]
    left = [q for q, key in zip(asked, wanted, strict=True) if key not in done]
    for rows in answer(bench, setting, left, told, batch=batch):
        append_rows(rows, path)
        done |= {key_of(row): row for row in rows}
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


def describe(bench: Bench, queries: QuerySet, setting: Setting) -> dict[str, Any]:
    """Return what every row says about where it comes from."""
    model, corpus = bench.model, bench.corpus
    graph = bench.graph if setting.waypoint_budget is not None else None
    return {
        "benchmark": bench.benchmark.name,
        "model": {"name": model.name, "family": model.family, "digest": model.digest}
        if setting.method in MODEL_METHODS
        else None,
        "corpus": {
            "name": Path(corpus.name).name,
            "digest": corpus.digest,
            "episodes": corpus.num_episodes,
        },
        "trained_on_corpus": _trained_on(bench, setting),
        "macro": _macro(bench, setting),
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
        "renderer": str(find_renderer(bench.benchmark)),
        "versions": library_versions() | {"commit": commit()},
    } | bench.remarks()


def _trained_on(bench: Bench, setting: Setting) -> bool | None:
    """Return whether the model has seen this recording; None: its file does not say."""
    if setting.method not in MODEL_METHODS:
        return None
    seen = (bench.model.notes.get("corpus") or {}).get("digest")
    return None if seen is None else bool(seen == bench.corpus.digest)


def _macro(bench: Bench, setting: Setting) -> dict[str, str] | None:
    if setting.method not in HIERARCHICAL_METHODS or bench.macro is None:
        return None
    return {"name": bench.macro.name, "digest": bench.macro.digest}


def answer(
    bench: Bench,
    setting: Setting,
    queries: Sequence[Query],
    told: dict[str, Any],
    *,
    batch: int,
) -> Iterator[Rows]:
    """Yield the rows of every batch of queries."""
    for first in range(0, len(queries), batch):
        rows = _answer_together(bench, setting, queries[first : first + batch])
        bench.forget_routes()
        yield [told | row for row in rows]


def _answer_together(bench: Bench, setting: Setting, queries: Sequence[Query]) -> Rows:
    worlds = bench.worlds(len(queries))
    attempts = [
        make_attempt(bench, setting, query, world)
        for query, world in zip(queries, worlds, strict=True)
    ]
    rows = list(_outcomes(bench, setting, queries, attempts))
    bench.discard(*(a.world for a in attempts if a.error is not None))
    return rows


def lost_rows(
    setting: Setting, queries: Sequence[Query], told: dict[str, Any], error: str
) -> Rows:
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


def plan_one(bench: Bench, setting: Setting, query: Query) -> Attempt:
    """Plan one query, keeping every moment and picture; leaves no row."""
    (world,) = bench.worlds(1)
    attempt = make_attempt(bench, setting, query, world)
    actor = make_actor(bench, setting, [query])
    run_attempts([attempt], actor, step_budget=setting.step_budget, record=True)
    return attempt


def _outcomes(
    bench: Bench, setting: Setting, queries: Sequence[Query], attempts: list[Attempt]
) -> Iterator[dict[str, Any]]:
    actor = make_actor(bench, setting, queries)
    seconds = run_attempts(attempts, actor, step_budget=setting.step_budget)
    shared = {name: spent / len(queries) for name, spent in vars(seconds).items()}
    for query, attempt in zip(queries, attempts, strict=True):
        shared["search"] = _search_seconds(bench, setting, query)
        yield to_json(setting, query) | {
            "frames_to_success": attempt.frames_to_success,
            "is_presolved": attempt.is_presolved,
            "demonstration_frames": query.demonstration_frames,
            "tags": _tags(bench, query),
            "error": attempt.error,
            "kinds": dict(attempt.kinds),
            "seconds": {name: round(spent, 5) for name, spent in shared.items()},
            "batch": len(queries),
        }


def _search_seconds(bench: Bench, setting: Setting, query: Query) -> float:
    if setting.waypoint_budget is None:
        return 0.0
    return bench.routes_for(setting.waypoint_budget, query)[1]


def _tags(bench: Bench, query: Query) -> list[str]:
    """Return the word that the benchmark has for the kind of start."""
    told = bench.benchmark.start_tag
    if not told:
        return []
    row = bench.corpus.row(bench.frame_of(query.episode, query.start))
    value = np.asarray(row[told["column"]]).ravel()[told["index"]]
    return [told["above"] if value > told["limit"] else told["below"]]


def make_attempt(bench: Bench, setting: Setting, query: Query, world: World) -> Attempt:
    """Return a query at its start in ``world``, with the guide of its method.

    A world that dies on the way there marks the attempt.
    """
    corpus = bench.corpus
    start, goal = (
        corpus.row(bench.frame_of(query.episode, step))
        for step in (query.start, query.goal)
    )
    first = corpus.frames(query.episode)[query.start]
    attempt = Attempt(world, first, _guide(bench, setting, query), is_presolved=False)
    with surviving(attempt):
        world.reset(0)
        world.restore(start)
        world.aim(goal)
        attempt.is_presolved = world.is_solved()
    return attempt


def _guide(bench: Bench, setting: Setting, query: Query) -> Guide:
    hop = setting.plan_blocks * bench.benchmark.action_block
    if setting.method in HIERARCHICAL_METHODS:
        hierarchy = bench.hierarchy_for(setting, query.goal_distance)
        goal = bench.own_latents(query)[-1]
        seed = setting.seed_of(query)
        return hierarchy.guide(goal, seed=seed, episode=query.episode)
    if setting.waypoint_budget is not None:
        planner = MetroPlanner(bench.routes_for(setting.waypoint_budget, query)[0])
        is_metro = setting.method == "metro"
        return MetroGuide(planner) if is_metro else CommittedGuide(planner)
    if setting.method == "flat":
        goal = bench.corpus.frames(query.episode)[query.goal]
        return FlatGuide(bench.model.encode(goal[None])[0])
    if setting.method == "oracle":
        return OracleGuide(bench.own_latents(query), hop)
    if setting.method == "waypoints":
        return WaypointGuide(bench.own_latents(query), hop)
    return Unseeing()


def make_actor(bench: Bench, setting: Setting, queries: Sequence[Query]) -> Actor:
    """Return encoder and micro planner of a batch of queries."""
    frames = setting.plan_blocks * bench.benchmark.action_block
    seeds = [setting.seed_of(query) for query in queries]
    if setting.method in HIERARCHICAL_METHODS:
        return bench.hierarchy_for(setting, queries[0].goal_distance).actor(seeds)
    if setting.method in MODEL_METHODS:
        iterations = bench.benchmark.cem_iterations
        settings = CEMSettings(setting.plan_blocks, iterations=iterations)
        return ModelActor(bench.model, settings, seeds)
    if setting.method == "random":
        return RandomActor(bench.benchmark.action_size, frames, seeds)
    actions = np.nan_to_num(bench.corpus.column("action").astype(np.float32))
    scripts = []
    for query in queries:
        first = bench.frame_of(query.episode, query.start)
        end = bench.frame_of(query.episode, query.goal)
        scripts.append(actions[first : end if setting.method == "replay" else first])
    return ScriptedActor(scripts, frames)
