"""Worker processes that share a list of tasks; one that dies loses only its own task.

Every process opens a context once (a model, an environment) and runs tasks in it.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from metro.errors import WorldError

Task = TypeVar("Task")
Result = TypeVar("Result")

DIED = "The worker process died without an error message, perhaps for want of memory."
"""Explains a task that ended its process twice."""

_ADVICE = "The same command resumes from what was finished; try fewer workers."

_context: Any = None
"""What this worker process has opened."""

_failure: Exception | None = None
"""Why this worker process could not open its context."""


@dataclass(frozen=True)
class _Job(Generic[Task, Result]):
    work: Callable[[Any, Task], Result]
    open_context: Callable[..., Any]
    arguments: tuple[Any, ...]


def run_tasks(
    work: Callable[[Any, Task], Result],
    tasks: Sequence[Task],
    *,
    open_context: Callable[..., Any],
    arguments: tuple[Any, ...] = (),
    workers: int,
    if_lost: Callable[[Task], Result] | None = None,
) -> Generator[Result, None, None]:
    """Yield the result of every task as soon as it is finished, in any order.

    When a process dies, all tasks under way are lost, and nobody knows which one was
    the cause. Each of them runs again in a process of its own. A task that ends that
    process too counts as lost; the remaining tasks continue.

    Args:
        work: Called as ``work(context, task)`` in a worker process. Functions, tasks
            and results are pickled, so functions must be at module level.
        tasks: What to do; begun in this order.
        open_context: Called once in every worker process, with ``arguments``.
        arguments: Of ``open_context``.
        workers: Number of worker processes.
        if_lost: Returns the result of a lost task; None raises `WorldError` instead.

    Raises:
        WorldError: If a process dies before its first task, or a task is lost.
        Exception: The first error that ``open_context`` or ``work`` raises.
    """
    job = _Job(work, open_context, arguments)
    left = dict(enumerate(tasks))
    while left:
        yield from _run_together(job, left, workers)
        # Tasks begin in order, and the executor holds one more ready than it has
        # processes: only these can have been under way when one died.
        for number in list(left)[: workers + 1]:
            yield _run_alone(job, left.pop(number), if_lost)


def _run_together(
    job: _Job[Task, Result], left: dict[int, Task], workers: int
) -> Iterator[Result]:
    """Yield results until all is done or a process dies; takes them off ``left``."""
    with _open_pool(job, min(workers, len(left))) as pool:
        numbers = _submit(pool, job, left)
        waiting: set[Future[Result]] = set(numbers)
        while waiting:
            ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            finished = [future for future in ready if not _is_lost(future)]
            for future in finished:
                del left[numbers[future]]
                yield future.result()
            if len(finished) < len(ready):
                return


def _submit(
    pool: ProcessPoolExecutor, job: _Job[Task, Result], left: dict[int, Task]
) -> dict[Future[Result], int]:
    """Return the tasks' numbers by future; those after a process has died are left."""
    numbers = {}
    for number, task in left.items():
        try:
            numbers[pool.submit(_run, job.work, task)] = number
        except BrokenProcessPool:
            # A quick task ended its process while others were still being handed out.
            break
    return numbers


def _run_alone(
    job: _Job[Task, Result], task: Task, if_lost: Callable[[Task], Result] | None
) -> Result:
    with _open_pool(job, 1) as pool:
        try:
            return pool.submit(_run, job.work, task).result()
        except BrokenProcessPool as error:
            if if_lost is None:
                raise WorldError(f"{DIED} {_ADVICE}") from error
            return if_lost(task)


@contextmanager
def _open_pool(job: _Job[Any, Any], workers: int) -> Iterator[ProcessPoolExecutor]:
    """Yield processes of which one has surely opened its context; end them all."""
    others = set(multiprocessing.active_children())
    # Spawned, not forked: torch and OpenGL do not survive a fork.
    pool = ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_start,
        initargs=(job.open_context, job.arguments),
    )
    try:
        try:
            pool.submit(_require_context).result()
        except BrokenProcessPool as error:
            raise WorldError(
                f"A worker process died before its first task, perhaps for want of "
                f"memory. {_ADVICE}"
            ) from error
        yield pool
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - others:
            child.terminate()


def _is_lost(future: Future[Any]) -> bool:
    return isinstance(future.exception(), BrokenProcessPool)


def _start(open_context: Callable[..., Any], arguments: Sequence[Any]) -> None:
    """Open the context of a worker process; an error is raised with its first task.

    Raised here, the executor would print it and call the pool broken.
    """
    global _context, _failure
    # Ctrl-C reaches the whole group; only the parent handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        _context = open_context(*arguments)
    except Exception as error:
        _failure = error


def _end_with_parent() -> None:
    """End this process when its parent is gone.

    A parent that is killed cannot say so, and the executor's queue stays open in the
    workers themselves: they would wait for tasks forever.
    """
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _require_context() -> None:
    if _failure is not None:
        raise _failure


def _run(work: Callable[[Any, Task], Result], task: Task) -> Result:
    _require_context()
    return work(_context, task)
