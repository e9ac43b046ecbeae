"""Evaluation: every query planned with every setting; rows out, resumable."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from metro.data.corpus import Corpus
from metro.errors import BenchmarkError
from metro.evaluation.context import EvalConfig, EvalContext
from metro.evaluation.metadata import row_metadata
from metro.evaluation.queries import Query, QuerySet
from metro.evaluation.records import (
    Record,
    Setting,
    append_records,
    by_key,
    read_records,
    require_writable,
    run_key,
    to_json,
)
from metro.evaluation.task_pool import WorkItem, plan_item, plan_items
from metro.storage.lock import only_writer

RESULTS = ("frames_to_success", "is_presolved", "error")
"""What a finished row says; the rest of it says of what."""

SuccessProgress = Callable[[int, int, int], None]
"""Called with rows (done, total) and how many of them are successes."""


def evaluate(  # noqa: PLR0913  (one argument per option of the verb)
    source: EvalConfig | EvalContext,
    settings: Setting | Sequence[Setting],
    queries: QuerySet | Sequence[Query],
    path: Path,
    *,
    batch: int = 25,
    workers: int = 1,
    progress: SuccessProgress | None = None,
) -> list[Record]:
    """Plan every query with every setting; append rows to ``path``, return all of them.

    Rows that the file already has are not planned again, so that an interrupted run is
    resumed; those of a process or an environment that died are tried again. While
    another process plans for the same file, this one waits. The outcome does not depend
    on ``batch`` or ``workers``: every process uses one thread, every query its own
    random numbers. Decision: D18.

    Args:
        source: The open parts, or where they are.
        settings: What to plan; those of one H share graph and routes.
        queries: What to reach.
        path: Rows (.jsonl).
        batch: Number of queries planned together.
        workers: Number of worker processes; 1 if the parts are open already.
        progress: Called with rows (done, total) and how many of them are successes.
    """
    settings = [settings] if isinstance(settings, Setting) else settings
    _check_sizes(source, batch, workers)
    # Before hours of planning, not after them.
    require_writable(path)
    # One process at a time: two would plan the same queries.
    with only_writer(path, wait=True):
        kept = (row for row in read_records(path) if not row.get("error"))
        done = by_key(kept, run_key, RESULTS)
        with _opened(source) as context:
            given = as_query_set(queries)
            tasks, wanted = _tasks(context, settings, given, done, batch)
            report = _reporter(progress, done, wanted)
            # Rows from an earlier run show at once.
            report()
            # One batch is planned here: to start a process would take longer.
            if workers == 1 or len(tasks) <= 1:
                planned = (plan_item(context, task) for task in tasks)
                _finish(planned, path, done, report)
                tasks = []
        # Closed first: the workers open the parts themselves, and memory counts.
        if tasks and isinstance(source, EvalConfig):
            _finish(plan_items(source, tasks, workers), path, done, report)
    # In the order asked for, whichever worker was first.
    return [done[key] for key in wanted]


def _finish(
    batches: Iterable[list[Record]],
    path: Path,
    done: dict[str, dict[str, Any]],
    report: Callable[[], None],
) -> None:
    """Append the rows of every batch as soon as it is planned."""
    for rows in batches:
        append_records(rows, path)
        done.update({run_key(row): row for row in rows})
        report()


def _reporter(
    progress: SuccessProgress | None,
    done: Mapping[str, Mapping[str, Any]],
    wanted: Sequence[str],
) -> Callable[[], None]:
    def report() -> None:
        if progress is not None:
            rows = [done[key] for key in wanted if key in done]
            solved = sum(row["frames_to_success"] is not None for row in rows)
            progress(len(rows), len(wanted), solved)

    return report


def _check_sizes(source: EvalConfig | EvalContext, batch: int, workers: int) -> None:
    if workers < 1:
        raise BenchmarkError(f"workers must be at least 1, got {workers}.")
    if batch < 1:
        raise BenchmarkError(f"batch must be at least 1, got {batch}.")
    if workers > 1 and isinstance(source, EvalContext):
        raise BenchmarkError(
            f"workers must be 1 for parts that are open in this process, got "
            f"{workers}. Give an EvalConfig instead."
        )


@contextmanager
def _opened(source: EvalConfig | EvalContext) -> Iterator[EvalContext]:
    """Give out the open parts; close them if they were opened here."""
    if isinstance(source, EvalContext):
        yield source
        return
    with source.open() as context:
        yield context


def _tasks(
    context: EvalContext,
    settings: Sequence[Setting],
    queries: QuerySet,
    done: Mapping[str, Any],
    batch: int,
) -> tuple[list[WorkItem], list[str]]:
    """Return what is left to plan, those of one H together, and the keys of all rows.

    Everything is checked before the first query is planned.
    """
    tasks, wanted = [], []
    context.corpus.require(context.benchmark)
    queries.require_corpus(context.corpus.digest)
    check_queries(context.corpus, queries)
    # Sorted by H, so that each graph is priced once and then given up.
    for setting in sorted(settings, key=lambda s: s.waypoint_budget or 0):
        context.check(setting, queries)
        metadata = row_metadata(context, queries, setting)
        keys = [run_key(metadata | to_json(setting, query)) for query in queries]
        left = [q for q, k in zip(queries, keys, strict=True) if k not in done]
        for first in range(0, len(left), batch):
            part = tuple(left[first : first + batch])
            tasks.append(WorkItem(setting, part, metadata))
        wanted += keys
    return tasks, wanted


def as_query_set(queries: QuerySet | Sequence[Query]) -> QuerySet:
    """Return queries that are not from a file as a set without a name."""
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
