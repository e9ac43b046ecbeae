"""Episodes recorded by several processes, each finished one kept on disk at once."""

import os
import signal
from collections.abc import Callable
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from queue import Empty
from typing import Any

from metro.data.collect.episode import record_episode, save_episode
from metro.data.collect.spec import RecordingSpec
from metro.envs import open_env
from metro.envs.cpu_determinism import for_children
from metro.envs.rendering import Renderer, adopt
from metro.errors import MetroError, WorldError

_PATIENCE = 0.5
"""Seconds between two looks at whether all workers are still alive."""


def episode_file(folder: Path, number: int) -> Path:
    """Return where the finished episode ``number`` is kept."""
    return folder / f"episode-{number:07d}.npz"


def record_here(
    plan: RecordingSpec, folder: Path, numbers: list[int], done: Callable[[], None]
) -> None:
    """Record episodes in this process, calling ``done`` after each."""
    world = open_env(
        plan.benchmark, image_size=plan.image_size, rendering=plan.rendering
    )
    try:
        for number in numbers:
            episode = record_episode(plan, world, number)
            save_episode(episode, episode_file(folder, number))
            done()
    finally:
        world.close()


def record_apart(
    plan: RecordingSpec,
    folder: Path,
    shares: list[list[int]],
    done: Callable[[], None],
    renderer: Renderer,
) -> None:
    """Record episodes in one process a share, calling ``done`` after each.

    The first error of a worker ends all of them; so does Ctrl-C.
    """
    context = get_context("spawn")
    reports: Any = context.Queue()
    workers = [
        context.Process(
            target=_work, args=(plan, folder, share, renderer, reports), daemon=True
        )
        for share in shares
    ]
    try:
        with for_children():
            for worker in workers:
                worker.start()
        _listen(reports, workers, sum(map(len, shares)), done)
    finally:
        for worker in workers:
            with suppress(ValueError, AttributeError):  # never started
                worker.terminate()
                worker.join()


def _listen(
    reports: Any, workers: list[Any], expected: int, done: Callable[[], None]
) -> None:
    ended = False
    while expected:
        try:
            report = reports.get(timeout=_PATIENCE)
        except Empty:
            if ended:  # and what they may have said last has been heard
                raise _death(workers) from None
            ended = any(worker.exitcode for worker in workers) or not any(
                worker.is_alive() for worker in workers
            )
            continue
        if isinstance(report, Exception):
            raise report
        expected -= 1
        done()


def _death(workers: list[Any]) -> WorldError:
    codes = ", ".join(str(worker.exitcode) for worker in workers)
    return WorldError(
        f"A recording process died without a word (exit codes {codes}), perhaps for "
        f"want of memory. The same command goes on with what was finished; try fewer "
        f"workers."
    )


def _work(
    plan: RecordingSpec,
    folder: Path,
    numbers: list[int],
    renderer: Renderer,
    reports: Any,
) -> None:
    """Record a share of the episodes, in a process of its own."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the parent
    use_one_thread()
    adopt(renderer)
    try:
        record_here(plan, folder, numbers, lambda: reports.put(None))
    except (MetroError, OSError) as error:
        reports.put(error)


def use_one_thread() -> None:
    """Keep the libraries of this process from using more than one core."""
    os.environ["OMP_NUM_THREADS"] = "1"
    import cv2
    import torch

    torch.set_num_threads(1)
    cv2.setNumThreads(1)
