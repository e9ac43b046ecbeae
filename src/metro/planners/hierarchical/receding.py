"""The micro level of the hierarchical baselines: two blocks planned, one executed."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.models.action_stats import ActionStats
from metro.models.frozen import FrozenModel
from metro.planners.cem import CEM, CEMSettings, make_stream


class RecedingPlanner:
    """Encodes frames; plans some blocks, hands out the first, keeps the rest.

    Implements `MicroPlanner`. The blocks that were not executed are
    where the query's next search starts. All queries of a batch go in step.

    Decision: D23.

    Args:
        model: The frozen world model.
        settings: Of the search.
        seeds: One for each query.
        action_stats: How the model's actions are normalised.
        cuts: Frames at which targets change for good: the running block is cut short
            there, and what is left of the plan is forgotten.
    """

    def __init__(
        self,
        model: FrozenModel,
        settings: CEMSettings,
        seeds: Sequence[int],
        *,
        action_stats: ActionStats,
        cuts: Sequence[int] = (),
    ) -> None:
        self._model, self._cem = model, CEM(model, settings)
        self._action_stats = action_stats
        self._streams = [make_stream(seed) for seed in seeds]
        self._cuts, self._step = tuple(cuts), 0
        width = model.action_block * model.action_size
        self._left = np.zeros((len(seeds), settings.plan_blocks, width), np.float32)

    def encode(self, frames: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return latents ``[B, D]`` of frames ``[B, S, S, 3]``."""
        latents: NDArray[np.float32] = self._model.encode(frames)
        return latents

    def plan(
        self, observed: NDArray[Any], target: NDArray[Any], queries: Sequence[int]
    ) -> NDArray[np.float32]:
        """Return the raw actions ``[B, frames, A]`` of the first block."""
        chosen = list(queries)
        streams = [self._streams[query] for query in chosen]
        plans = self._cem.plan(observed, target, streams, around=self._left[chosen])
        # The next search starts around the blocks that were planned, not executed.
        self._left[chosen] = 0
        self._left[chosen, :-1] = plans[:, 1:]
        frames = self._frames_to_execute()
        self._step += frames
        # A plan for the old target would mislead the search for the new one.
        if self._step in self._cuts:
            self._left[:] = 0
        first = plans[:, 0].reshape(len(plans), -1, self._model.action_size)
        return self._action_stats.denormalise(first[:, :frames])

    def _frames_to_execute(self) -> int:
        """Return the frames of a block, or those that are left until a cut."""
        block = self._model.action_block
        until = [cut - self._step for cut in self._cuts if cut > self._step]
        return min(block, *until) if until else block
