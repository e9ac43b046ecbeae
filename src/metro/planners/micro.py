"""A world model and its micro planner as the closed loop uses them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.models.frozen import FrozenModel
from metro.planners.cem import CEM, CEMSettings, make_stream


class CEMPlanner:
    """Encodes frames, and plans with CEM; every query draws its own numbers.

    Args:
        model: The frozen world model; must know how its actions were normalised.
        settings: Of the search.
        seeds: One for each query.
    """

    def __init__(
        self, model: FrozenModel, settings: CEMSettings, seeds: Sequence[int]
    ) -> None:
        self._model = model
        self._cem = CEM(model, settings)
        self._streams = [make_stream(seed) for seed in seeds]

    def encode(self, frames: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return latents ``[B, D]`` of frames ``[B, S, S, 3]``."""
        latents: NDArray[np.float32] = self._model.encode(frames)
        return latents

    def plan(
        self, observed: NDArray[Any], target: NDArray[Any], queries: Sequence[int]
    ) -> NDArray[np.float32]:
        """Return raw actions ``[B, plan_blocks * action_block, A]``."""
        streams = [self._streams[query] for query in queries]
        blocks = self._cem.plan(observed, target, streams)
        actions = blocks.reshape(len(blocks), -1, self._model.action_size)
        return self._model.denormalise(actions)
