"""Worker processes that share a list of tasks; one that dies loses only its own task.

Every process opens a context once (a model, an environment) and runs tasks in it. It
has a pipe of its own: it can be ended at any moment, and nobody waits for a lock or for
half a message that it left behind.
"""

import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Generator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any, TypeVar

from metro.errors import WorldError, one_line

Task = TypeVar("Task")
Result = TypeVar("Result")

DIED = "The worker process died without an error message, perhaps for want of memory."
"""Explains a task that ended its process twice."""

_ADVICE = "The same command resumes from what was finished; try fewer workers."

_OPEN, _DONE, _FAILED, _GONE = "open", "done", "failed", "gone"
"""What is heard from a worker: its context is open, a result, an error, nothing."""

# Spawned, not forked: torch and OpenGL do not survive a fork.
_SPAWN = multiprocessing.get_context("spawn")


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

    When a process dies, its task runs again at the end, alone. A task that ends a
    second process counts as lost; the remaining tasks continue.

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
    left, tried = deque(enumerate(tasks)), set[int]()
    crew: list[_Worker] = []
    try:
        while left or _busy(crew):
            while len(crew) < min(workers, len(left) + len(_busy(crew))):
                crew.append(_Worker(work, open_context, arguments))
            for worker in crew:
                # What ended a process runs last, and nothing beside it: memory counts.
                can_begin = left and (left[0][0] not in tried or not _busy(crew))
                if can_begin and worker.is_open and worker.task is None:
                    worker.begin(left.popleft())
            ready = wait([worker.pipe for worker in crew])
            for worker in [one for one in crew if one.pipe in ready]:
                said, value, ended = worker.hear()
                if said == _FAILED:
                    raise value
                if said == _DONE:
                    yield value
                if said == _GONE:
                    crew.remove(worker)
                    if ended is not None and ended[0] in tried:
                        yield _lost(ended[1], if_lost)
                    elif ended is not None:
                        tried.add(ended[0])
                        left.append(ended)
    finally:
        for worker in crew:
            worker.end()


def _busy(crew: "Sequence[_Worker]") -> "list[_Worker]":
    return [worker for worker in crew if worker.task is not None]


def _lost(task: Task, if_lost: Callable[[Task], Result] | None) -> Result:
    if if_lost is None:
        raise WorldError(f"{DIED} {_ADVICE}")
    return if_lost(task)


class _Worker:
    """A worker process as its parent sees it: its pipe, and the task it has."""

    def __init__(self, *job: Any) -> None:
        self.pipe, theirs = _SPAWN.Pipe()
        self.task: tuple[int, Any] | None = None
        self.is_open = False
        self._process = _SPAWN.Process(target=_serve, args=(theirs, *job), daemon=True)
        self._process.start()
        # The child's end is then the child's alone: when it dies, ours says so.
        theirs.close()

    def begin(self, task: tuple[int, Any]) -> None:
        """Hand out a numbered task."""
        self.task = task
        try:
            self.pipe.send(task[1])
        except BrokenPipeError:
            # It has died in between, and is heard of next.
            return

    def hear(self) -> tuple[str, Any, tuple[int, Any] | None]:
        """Return what the process says, a result or an error, and the task it ends."""
        try:
            said, value = self.pipe.recv()
        except (EOFError, OSError) as error:
            if not self.is_open:
                raise WorldError(
                    f"A worker process died before its first task, perhaps for want of "
                    f"memory. {_ADVICE}"
                ) from error
            self.end()
            said, value = _GONE, None
        self.is_open, ended, self.task = True, self.task, None
        return said, value, ended

    def end(self) -> None:
        """End the process, whatever it does."""
        self._process.terminate()
        self._process.join()
        self.pipe.close()


def _serve(
    pipe: Connection,
    work: Callable[[Any, Any], Any],
    open_context: Callable[..., Any],
    arguments: tuple[Any, ...],
) -> None:
    """Open the context, then run tasks as they come: the life of a worker process."""
    # Ctrl-C reaches the whole group; only the parent handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        context = open_context(*arguments)
        pipe.send((_OPEN, None))
        while True:
            pipe.send((_DONE, work(context, pipe.recv())))
    except Exception as error:
        pipe.send((_FAILED, _portable(error)))
        # The parent ends this process; by itself it would look like one that died.
        threading.Event().wait()


def _portable(error: Exception) -> Exception:
    """Return an error as it can be sent to another process, with its traceback."""
    error.add_note(f"In a worker process:\n{traceback.format_exc()}")
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {one_line(error)}")
    return error


def _end_with_parent() -> None:
    """End this process when its parent is gone: killed, it cannot say so."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
