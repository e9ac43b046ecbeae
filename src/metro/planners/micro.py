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
        spread: ``[A]`` standard deviation of the first candidates around proposed
            actions, normalised; None: that of the settings.
    """

    def __init__(
        self,
        model: WorldModel,
        settings: CEMSettings,
        seeds: Sequence[int],
        *,
        action_stats: ActionStats,
        spread: NDArray[np.float32] | None = None,
    ) -> None:
        self._model, self._action_stats = as_world_model(model), action_stats
        self._cem = CEM(self._model, settings)
        # One number per action of a block, in the order that the model takes them.
        self._spread = spread
        if spread is not None:
            self._spread = np.tile(spread, self._model.action_block)
        self._streams = [make_stream(seed) for seed in seeds]

    def encode(self, frames: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return latents ``[B, D]`` of frames ``[B, S, S, 3]``."""
        latents: NDArray[np.float32] = self._model.encode(frames)
        return latents

    @property
    def num_frames(self) -> int:
        """Actions of one plan."""
        return self._cem.settings.plan_blocks * self._model.action_block

    def plan(
        self,
        observed: NDArray[Any],
        target: NDArray[Any],
        queries: Sequence[int],
        proposed: NDArray[np.float32] | None = None,
    ) -> NDArray[np.float32]:
        """Return raw actions ``[B, plan_blocks * action_block, A]``.

        The search starts around ``proposed`` raw actions of the same shape, if given.
        """
        # By the query's number: those that met their goal have dropped out.
        streams = [self._streams[query] for query in queries]
        around = spread = None
        if proposed is not None:
            plan_blocks = self._cem.settings.plan_blocks
            around = self._action_stats.normalise(proposed)
            around = around.reshape(len(proposed), plan_blocks, -1)
            spread = self._spread
        blocks = self._cem.plan(observed, target, streams, around, spread)
        actions = blocks.reshape(len(blocks), -1, self._model.action_size)
        return self._action_stats.denormalise(actions)
