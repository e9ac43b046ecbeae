"""Many settings of one benchmark planned in one go, by several processes."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from metro.errors import BenchmarkError
from metro.evaluation.context import EvalConfig
from metro.evaluation.pool import WorkItem, run_tasks
from metro.evaluation.queries import QuerySet
from metro.evaluation.records import (
    Setting,
    append_records,
    read_records,
    require_writable,
    run_key,
    to_json,
)
from metro.evaluation.run import (
    Records,
    SuccessProgress,
    answer,
    check_queries,
    describe,
)


def evaluate_grid(  # noqa: PLR0913  (one argument a setting, as the verbs have them)
    source: EvalConfig,
    settings: Sequence[Setting],
    queries: QuerySet,
    path: Path,
    *,
    batch: int = 25,
    workers: int = 1,
    progress: SuccessProgress | None = None,
) -> Records:
    """Plan every query with every setting; append rows to ``path``, return all of them.

    Records that the file has already are not planned again, so that an interrupted run
    goes on; those of a process or a world that died are tried again. The outcome does
    not depend on ``batch`` or ``workers``: every process uses one thread, every query
    its own random numbers. Decision: D18.

    Args:
        source: Where world, recording, model and graph are.
        settings: What to plan; those of one H share graph and routes.
        queries: What to reach.
        path: Records (.jsonl).
        batch: Queries planned together.
        workers: Processes.
        progress: Called with rows (done, total) and how many of them are successes.
    """
    if workers < 1:
        raise BenchmarkError(f"workers must be at least 1, got {workers}.")
    done = {run_key(row): row for row in read_records(path) if not row.get("error")}
    require_writable(path)
    tasks, wanted = _plan(source, settings, queries, set(done), batch)
    if progress is not None:
        _report(progress, done, wanted)
    for rows in _carry_out(source, tasks, batch, workers):
        append_records(rows, path)
        done |= {run_key(row): row for row in rows}
        if progress is not None:
            _report(progress, done, wanted)
    return [done[key] for key in wanted]


def _report(
    progress: SuccessProgress, done: dict[str, dict[str, Any]], wanted: Sequence[str]
) -> None:
    answered = [done[key] for key in wanted if key in done]
    solved = sum(row["frames_to_success"] is not None for row in answered)
    progress(len(answered), len(wanted), solved)


def _plan(
    source: EvalConfig,
    settings: Sequence[Setting],
    queries: QuerySet,
    done: set[str],
    batch: int,
) -> tuple[list[WorkItem], list[str]]:
    """Return what is left to do, those of one H together, and the keys of all rows."""
    if batch < 1:
        raise BenchmarkError(f"batch must be at least 1, got {batch}.")
    tasks, wanted = [], []
    with source.open() as context:
        context.corpus.require(context.benchmark)
        queries.require_corpus(context.corpus.digest)
        check_queries(context.corpus, queries)
        for setting in sorted(settings, key=lambda s: s.waypoint_budget or 0):
            context.check(setting, queries)
            told = describe(context, queries, setting)
            keys = [run_key(told | to_json(setting, query)) for query in queries]
            left = [q for q, k in zip(queries, keys, strict=True) if k not in done]
            for first in range(0, len(left), batch):
                part = tuple(left[first : first + batch])
                tasks.append(WorkItem(setting, part, told))
            wanted += keys
    return tasks, wanted


def _carry_out(
    source: EvalConfig, tasks: Sequence[WorkItem], batch: int, workers: int
) -> Iterator[Records]:
    if workers <= 1 or len(tasks) <= 1:
        if tasks:
            yield from _here(source, tasks, batch)
        return
    yield from run_tasks(source, tasks, workers)


def _here(
    source: EvalConfig, tasks: Sequence[WorkItem], batch: int
) -> Iterator[Records]:
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with source.open() as context:
            for task in tasks:
                yield from answer(
                    context, task.setting, task.queries, task.told, batch=batch
                )
    finally:
        torch.set_num_threads(threads)
