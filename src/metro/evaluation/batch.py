"""A batch of queries of one setting: planned together, one row per query."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from metro.evaluation.context import EvalContext
from metro.evaluation.queries import Query
from metro.evaluation.records import Record, Setting, to_json
from metro.evaluation.rollout import Rollout, run_rollouts, surviving
from metro.planners.closed_loop import MicroPlanner, Seconds
from metro.planners.methods.registry import find_method
from metro.types import Env


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Let torch use one thread inside.

    Several threads would add in another order, and rows would depend on the machine
    and on the number of worker processes. Decision: D18.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def plan_queries(
    context: EvalContext,
    setting: Setting,
    queries: Sequence[Query],
    metadata: Mapping[str, Any],
    *,
    batch: int,
) -> Iterator[list[Record]]:
    """Yield the rows of every batch of queries."""
    for first in range(0, len(queries), batch):
        with one_torch_thread():
            rows = _plan_batch(context, setting, queries[first : first + batch])
        # Routes of a batch would crowd out the memory that the next search reuses.
        context.forget_routes()
        yield [{**metadata, **row} for row in rows]


def _plan_batch(
    context: EvalContext, setting: Setting, queries: Sequence[Query]
) -> list[Record]:
    rollouts = make_rollouts(context, setting, queries)
    planner = make_micro_planner(context, setting, queries)
    seconds = run_rollouts(rollouts, planner, step_budget=setting.step_budget)
    # A batch is encoded and planned at once: a query's own time cannot be known.
    shared = {name: spent / len(queries) for name, spent in vars(seconds).items()}
    rows = [
        to_json(setting, query)
        | _outcome(context, setting, query, rollout, shared)
        | {"batch": len(queries)}
        for query, rollout in zip(queries, rollouts, strict=True)
    ]
    # A failed environment may be broken: the next batch must not get it.
    context.envs.discard(*(each.env for each in rollouts if each.error is not None))
    return rows


def plan_one(context: EvalContext, setting: Setting, query: Query) -> Rollout:
    """Plan one query and keep every state and frame; write no row."""
    with one_torch_thread():
        (rollout,) = make_rollouts(context, setting, [query])
        planner = make_micro_planner(context, setting, [query])
        run_rollouts([rollout], planner, step_budget=setting.step_budget, record=True)
    return rollout


def make_rollouts(
    context: EvalContext, setting: Setting, queries: Sequence[Query]
) -> list[Rollout]:
    """Return queries at their starts, each with the selector of its method."""
    envs = context.envs.take(len(queries))
    return [
        _make_rollout(context, setting, query, env)
        for query, env in zip(queries, envs, strict=True)
    ]


def _make_rollout(
    context: EvalContext, setting: Setting, query: Query, env: Env
) -> Rollout:
    """Return a query at its start; an environment that dies on the way marks it."""
    corpus = context.corpus
    start, goal = (
        corpus.row(context.frame_of(query.episode, step))
        for step in (query.start, query.goal)
    )
    # The published protocol starts from the recorded frame, not a rendered one.
    first = corpus.frames(query.episode)[query.start]
    method, seed = find_method(setting.method), setting.seed_of(query)
    selector = method.make_selector(context.plan_of(setting), query, seed)
    rollout = Rollout(env, first, selector, is_presolved=False)
    with surviving(rollout):
        # Every query starts from the same reset, whatever the environment did before.
        env.reset(0)
        env.set_state(start)
        env.set_goal(goal)
        rollout.is_presolved = env.is_solved()
    return rollout


def make_micro_planner(
    context: EvalContext, setting: Setting, queries: Sequence[Query]
) -> MicroPlanner:
    """Return encoder and micro planner of a batch of queries."""
    seeds = [setting.seed_of(query) for query in queries]
    method = find_method(setting.method)
    return method.make_micro_planner(context.plan_of(setting), queries, seeds)


def failed_records(
    setting: Setting,
    queries: Sequence[Query],
    metadata: Mapping[str, Any],
    error: str,
) -> list[Record]:
    """Return rows of queries that could not be planned, with the reason."""
    return [
        {
            **metadata,
            **to_json(setting, query),
            "frames_to_success": None,
            "is_presolved": bool(query.is_presolved),
            "demonstration_frames": query.demonstration_frames,
            "tags": [],
            "error": error,
            "kinds": {},
            "seconds": vars(Seconds()),
            "batch": len(queries),
        }
        for query in queries
    ]


def _outcome(
    context: EvalContext,
    setting: Setting,
    query: Query,
    rollout: Rollout,
    shared: dict[str, float],
) -> dict[str, Any]:
    """Return how a query went; ``shared`` is its part of the batch's seconds."""
    # Routes are searched query by query, so their time is known exactly.
    seconds = shared | {"search": _search_seconds(context, setting, query)}
    return {
        "frames_to_success": rollout.frames_to_success,
        "is_presolved": rollout.is_presolved,
        "demonstration_frames": query.demonstration_frames,
        "tags": _tags(context, query),
        "error": rollout.error,
        "kinds": dict(rollout.kinds),
        # Finer digits are noise, and there are many rows.
        "seconds": {name: round(spent, 5) for name, spent in seconds.items()},
    }


def _search_seconds(context: EvalContext, setting: Setting, query: Query) -> float:
    if setting.waypoint_budget is None:
        return 0.0
    return context.routes_for(setting.waypoint_budget, query, setting.option)[1]


def _tags(context: EvalContext, query: Query) -> list[str]:
    """Return the word that the benchmark has for the kind of start."""
    rule = context.benchmark.start_tag
    if not rule:
        return []
    row = context.corpus.row(context.frame_of(query.episode, query.start))
    value = np.asarray(row[rule["column"]]).ravel()[rule["index"]]
    return [rule["above"] if value > rule["limit"] else rule["below"]]
