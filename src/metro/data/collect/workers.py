"""Episodes recorded one after the other, or by several processes.

Each finished episode is written to disk at once.
"""

import os
from collections.abc import Generator, Sequence
from contextlib import closing
from pathlib import Path

from metro.data.collect.assembly import episode_file
from metro.data.collect.episode import record_episode, save_episode
from metro.data.collect.spec import RecordingSpec
from metro.envs import open_env
from metro.envs.cpu_determinism import for_children, is_common
from metro.envs.rendering import Renderer, adopt
from metro.pool import run_tasks


class Recorder:
    """Records single episodes of ``spec`` into ``folder`` with one open environment."""

    def __init__(self, spec: RecordingSpec, folder: Path) -> None:
        self._spec, self._folder = spec, folder
        self._env = open_env(
            spec.benchmark, image_size=spec.image_size, rendering=spec.rendering
        )

    def record(self, number: int) -> None:
        """Record and save the episode ``number``."""
        episode = record_episode(self._spec, self._env, number)
        save_episode(episode, episode_file(self._folder, number))

    def close(self) -> None:
        """Close the environment."""
        self._env.close()


def record_episodes(
    spec: RecordingSpec,
    folder: Path,
    numbers: Sequence[int],
    *,
    workers: int,
    renderer: Renderer,
) -> Generator[None, None, None]:
    """Record episodes, here or in ``workers`` processes; yield after each.

    The first error of a worker ends all of them; so does Ctrl-C.
    """
    # Libraries choose their kernels when they are loaded: a process that was started
    # otherwise must leave the recording to children.
    if workers > 1 or (numbers and not is_common()):
        with for_children():
            yield from run_tasks(
                Recorder.record,
                numbers,
                open_context=_open_recorder,
                arguments=(spec, folder, renderer),
                workers=workers,
            )
    elif numbers:
        with closing(Recorder(spec, folder)) as recorder:
            for number in numbers:
                recorder.record(number)
                yield


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
    return Recorder(spec, folder)
