"""Recorded actions along a route, as the micro planner's first guess."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.core.latents import Latents
from metro.core.neighbours import NeighbourTable
from metro.models.action_stats import ActionStats
from metro.planners.cem import CEMSettings

RECORDED_SEARCH = CEMSettings(
    plan_blocks=1, num_samples=128, num_elites=16, iterations=10
)
"""A search that starts from recorded actions needs fewer candidates. Decision: D38."""


class RecordedActions:
    """The actions of a corpus, looked up along paths of its frames. Decision: D38.

    Args:
        latents: The corpus; only its episodes matter.
        actions: ``[N, A]`` raw actions, NaN where there is none.
    """

    def __init__(self, latents: Latents, actions: NDArray[Any]) -> None:
        self._latents = latents
        self.actions = np.asarray(actions, dtype=np.float32)

    def along(self, path: Sequence[int], count: int) -> NDArray[np.float32]:
        """Return ``[count, A]`` raw actions that follow a path of frames.

        Bridges have no action and are skipped. Where the path ends early, its last
        episode is followed on; NaN where that ends too.
        """
        frames = [u for u, v in pairwise(path) if v == u + 1]
        if path:
            episode = int(self._latents.episode_of(path[-1]))
            end = int(self._latents.episode_offsets[episode + 1])
            frames += range(path[-1], end)
        found = np.full((count, self.actions.shape[1]), np.nan, dtype=np.float32)
        frames = frames[:count]
        found[: len(frames)] = self.actions[frames]
        return found

    def spread(self, table: NeighbourTable, stats: ActionStats) -> NDArray[np.float32]:
        """Return ``[A]`` how much normalised actions differ where frames look alike.

        √(½ E (a_u − a_v)²) over every frame u and its nearest neighbour v: the standard
        deviation of an action that its frame leaves open. At most 1, the usual spread.
        """
        nearest = table.frame[:, 0]
        known = np.isfinite(self.actions).all(axis=1, keepdims=False)
        both = (nearest >= 0) & known & np.take(known, np.maximum(nearest, 0))
        if not both.any():
            return np.ones(self.actions.shape[1], dtype=np.float32)
        scaled = stats.normalise(self.actions)
        apart = scaled[both] - scaled[nearest[both]]
        deviation = np.sqrt(np.square(apart, dtype=np.float64).mean(axis=0) / 2)
        return np.minimum(deviation, 1.0).astype(np.float32)
