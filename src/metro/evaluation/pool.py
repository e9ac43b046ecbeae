"""Processes that plan; one that dies takes down no task but its own."""

import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from metro.errors import WorldError
from metro.evaluation.context import EvalConfig, EvalContext
from metro.evaluation.queries import Query
from metro.evaluation.records import Setting
from metro.evaluation.run import Records, answer, failed_records

_bench: EvalContext | None = None
"""What a worker process has open."""

DIED = "The planning process died without a word, perhaps for want of memory."
"""What a row says whose task takes its process down each time."""


@dataclass(frozen=True)
class WorkItem:
    """Queries of one setting that are planned together."""

    setting: Setting
    queries: tuple[Query, ...]
    told: dict[str, Any]


def run_tasks(
    source: EvalConfig, tasks: Sequence[WorkItem], workers: int
) -> Iterator[Records]:
    """Yield the rows of every task as it is finished.

    When a process dies all that were under way are lost, and it is not known whose
    fault it was. They are planned again, each in a process of its own; one that dies
    again is marked, query by query. The others go on.

    Raises:
        WorldError: If a process dies before it has anything to plan.
    """
    left = list(tasks)
    while left:
        yield from _together(source, left, workers)
        # Tasks are begun in order, and one more is held ready than there are processes.
        suspects, left = left[: workers + 1], left[workers + 1 :]
        for task in suspects:
            yield _alone(source, task)


def _together(
    source: EvalConfig, left: list[WorkItem], workers: int
) -> Iterator[Records]:
    """Yield rows until all is done, or a process dies; takes them off ``left``."""
    with _pool(source, min(workers, len(left))) as pool:
        tasks = {pool.submit(_work, task): task for task in left}
        waiting: set[Future[Records]] = set(tasks)
        while waiting:
            ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            finished = [each for each in ready if not _is_lost(each)]
            for future in finished:
                left.remove(tasks[future])
                yield future.result()
            if len(finished) < len(ready):
                return


def _is_lost(future: Future[Records]) -> bool:
    return isinstance(future.exception(), BrokenProcessPool)


def _alone(source: EvalConfig, task: WorkItem) -> Records:
    """Return a task's rows, marked if it takes a process of its own down, too."""
    with _pool(source, 1) as pool:
        try:
            return pool.submit(_work, task).result()
        except BrokenProcessPool:
            return failed_records(task.setting, task.queries, task.told, DIED)


@contextmanager
def _pool(source: EvalConfig, workers: int) -> Iterator[ProcessPoolExecutor]:
    """Give out processes that have opened ``source``, and end them."""
    pool = ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_open,
        initargs=(source,),
    )
    try:
        try:
            pool.submit(_is_open).result()
        except BrokenProcessPool as error:
            raise WorldError(
                "A planning process died before it began, perhaps for want of memory. "
                "The same command goes on with what was finished; try fewer workers."
            ) from error
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in multiprocessing.active_children():
            child.terminate()


def _open(source: EvalConfig) -> None:
    """Open the context of a worker process; Ctrl-C is its parent's business."""
    global _bench
    import torch

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(1)
    _bench = source.open()


def _is_open() -> bool:
    return _bench is not None


def _work(task: WorkItem) -> Records:
    if _bench is None:  # the pool calls `_open` first
        raise AssertionError("a worker without a context")
    (rows,) = answer(
        _bench, task.setting, task.queries, task.told, batch=len(task.queries)
    )
    return rows
