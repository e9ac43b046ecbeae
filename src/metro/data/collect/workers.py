"""Episodes recorded one after the other, or by several processes.

Each finished episode is written to disk at once.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from metro.data.collect.episode import record_episode, save_episode
from metro.data.collect.spec import RecordingSpec
from metro.envs import open_env
from metro.envs.cpu_determinism import for_children
from metro.envs.rendering import Renderer, adopt
from metro.pool import run_tasks
from metro.types import Env


def episode_file(folder: Path, number: int) -> Path:
    """Return where the finished episode ``number`` is kept."""
    return folder / f"episode-{number:07d}.npz"


@dataclass(frozen=True)
class Recorder:
    """Records single episodes of ``spec`` into ``folder`` with one open environment."""

    spec: RecordingSpec
    folder: Path
    env: Env

    @classmethod
    def open(cls, spec: RecordingSpec, folder: Path) -> "Recorder":
        """Return a recorder with an environment of its own."""
        env = open_env(
            spec.benchmark, image_size=spec.image_size, rendering=spec.rendering
        )
        return cls(spec, folder, env)

    def record(self, number: int) -> None:
        """Record and save the episode ``number``."""
        episode = record_episode(self.spec, self.env, number)
        save_episode(episode, episode_file(self.folder, number))


def record_here(
    spec: RecordingSpec, folder: Path, numbers: Sequence[int], done: Callable[[], None]
) -> None:
    """Record episodes in this process, calling ``done`` after each."""
    recorder = Recorder.open(spec, folder)
    try:
        for number in numbers:
            recorder.record(number)
            done()
    finally:
        recorder.env.close()


def record_in_processes(
    spec: RecordingSpec,
    folder: Path,
    numbers: Sequence[int],
    done: Callable[[], None],
    *,
    workers: int,
    renderer: Renderer,
) -> None:
    """Record episodes in ``workers`` processes, calling ``done`` after each.

    The first error of a worker ends all of them; so does Ctrl-C.
    """
    finished = run_tasks(
        Recorder.record,
        numbers,
        open_context=_open_recorder,
        arguments=(spec, folder, renderer),
        workers=workers,
    )
    # Closed explicitly: an error in `done` must end the workers now.
    with for_children(), closing(finished):
        for _ in finished:
            done()


def use_one_thread() -> None:
    """Keep the libraries of this process from using more than one core."""
    # Read when libraries are loaded, hence before the imports below.
    os.environ["OMP_NUM_THREADS"] = "1"
    import cv2
    import torch

    torch.set_num_threads(1)
    cv2.setNumThreads(1)


def _open_recorder(spec: RecordingSpec, folder: Path, renderer: Renderer) -> Recorder:
    """Return the recorder of a worker process.

    The renderer is the parent's choice: a worker that tried for itself could find
    another one, and its frames would differ.
    """
    use_one_thread()
    adopt(renderer)
    return Recorder.open(spec, folder)
