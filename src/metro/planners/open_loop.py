"""Ways to act without a world model: floors and a ceiling for every comparison."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NOTHING = np.zeros(1, dtype=np.float32)
"""The latent of those who do not look."""


class NoSelector:
    """Acts by itself: encodes nothing, heads for nothing."""

    def __call__(self, observed: NDArray[Any], step: int) -> tuple[NDArray[Any], str]:
        """Return no target: also a guide."""
        return _NOTHING, "none"

    def encode(self, frames: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return a latent ``[B, 1]`` that says nothing."""
        return np.zeros((len(frames), 1), dtype=np.float32)


class RandomPlanner(NoSelector):
    """Uniform actions in [-1, 1], the range of all four worlds.

    Args:
        action_size: A.
        frames: Actions of a plan.
        seeds: One for each query.
    """

    def __init__(self, action_size: int, frames: int, seeds: Sequence[int]) -> None:
        self._shape = (frames, action_size)
        self._streams = [np.random.default_rng(seed) for seed in seeds]

    def plan(
        self, observed: NDArray[Any], target: NDArray[Any], queries: Sequence[int]
    ) -> NDArray[np.float32]:
        """Return random actions ``[B, frames, A]``."""
        drawn = [self._streams[query].uniform(-1, 1, self._shape) for query in queries]
        return np.stack(drawn).astype(np.float32)


class ReplayPlanner(NoSelector):
    """Actions known beforehand; zeros when they are used up.

    Args:
        scripts: ``[frames, A]`` for each query; of ``stay`` without frames, of
            ``replay`` the recorded ones.
        frames: Actions of a plan.
    """

    def __init__(self, scripts: Sequence[NDArray[np.float32]], frames: int) -> None:
        self._scripts, self._frames = scripts, frames
        self._done = [0] * len(scripts)

    def plan(
        self, observed: NDArray[Any], target: NDArray[Any], queries: Sequence[int]
    ) -> NDArray[np.float32]:
        """Return the next actions ``[B, frames, A]``."""
        return np.stack([self._next(query) for query in queries])

    def _next(self, query: int) -> NDArray[np.float32]:
        script, first = self._scripts[query], self._done[query]
        self._done[query] += self._frames
        actions = np.zeros((self._frames, script.shape[1]), dtype=np.float32)
        left = script[first : first + self._frames]
        actions[: len(left)] = left
        return actions
