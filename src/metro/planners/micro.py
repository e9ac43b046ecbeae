"""A world model and its micro planner as the closed loop uses them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.models.action_stats import ActionStats
from metro.models.adapter import as_world_model
from metro.planners.cem import CEM, CEMSettings, make_stream
from metro.types import WorldModel


class CEMPlanner:
    """Encodes frames, and plans with CEM; every query draws its own numbers.

    Args:
        model: Any world model.
        settings: Of the search.
        seeds: One for each query.
        action_stats: How the model's actions are normalised.
    """

    def __init__(
        self,
        model: WorldModel,
        settings: CEMSettings,
        seeds: Sequence[int],
        *,
        action_stats: ActionStats,
    ) -> None:
        self._model, self._action_stats = as_world_model(model), action_stats
        self._cem = CEM(self._model, settings)
        self._streams = [make_stream(seed) for seed in seeds]

    def encode(self, frames: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return latents ``[B, D]`` of frames ``[B, S, S, 3]``."""
        latents: NDArray[np.float32] = self._model.encode(frames)
        return latents

    def plan(
        self, observed: NDArray[Any], target: NDArray[Any], queries: Sequence[int]
    ) -> NDArray[np.float32]:
        """Return raw actions ``[B, plan_blocks * action_block, A]``."""
        # By the query's number: those that met their goal have dropped out.
        streams = [self._streams[query] for query in queries]
        blocks = self._cem.plan(observed, target, streams)
        actions = blocks.reshape(len(blocks), -1, self._model.action_size)
        return self._action_stats.denormalise(actions)
