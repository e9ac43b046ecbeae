"""What a world model can reach in one action block, measured with random blocks."""

from dataclasses import replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from metro.core.graph import FrameGraph
from metro.core.latents import Latents
from metro.core.pricing import DEFAULT_QUANTILE
from metro.core.reach import ReachMeasure, ReachPricing, reach_distances
from metro.errors import ModelError
from metro.models.action_stats import ActionStats
from metro.models.frozen import FrozenModel
from metro.models.unrolling import Outcomes
from metro.types import WorldModel

NUM_BLOCKS = 32
"""S, action blocks that are tried from every latent."""

_PAIRS = 4_000
"""Recorded pairs that the constants are measured on: their quantiles vary by 1 %."""

_ROWS = 256
"""Latents measured at once."""

_PIECE = 32
"""Latents that a processor predicts from at once."""

_CPU = torch.device("cpu")

_NO_ERROR = 1e-10
"""Squared errors below this are rounding."""


class ModelReach:
    """The reach of a frozen world model; a `metro.core.reach.ReachMeasure`.

    The same S standard normal action blocks, each with its negative, are tried from
    every latent, so that equal calls give equal answers. Decision: D36.

    Args:
        model: The world model.
        noise: s², its mean squared one-block error per latent dimension.
    """

    def __init__(self, model: WorldModel, noise: float) -> None:
        self._model, self._noise = model, noise
        shape = (NUM_BLOCKS // 2, 1, model.action_block * model.action_size)
        half = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
        self._blocks = torch.from_numpy(np.concatenate([half, -half]))
        self._outcomes: tuple[torch.device, Outcomes] | None = None

    def __call__(
        self, origins: NDArray[Any], targets: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Return m ``[B, K]`` from origins ``[B, D]`` to targets ``[B, K, D]``."""
        latents = torch.from_numpy(origins.astype(np.float32))
        # On a processor in pieces, whose clouds stay in its cache.
        on_cpu = getattr(self._model, "device", _CPU) == _CPU
        number = -(-len(latents) // _PIECE) if on_cpu else 1
        pieces = zip(
            latents.tensor_split(number), np.array_split(targets, number), strict=True
        )
        found = [
            reach_distances(self._predict(z), each, self._noise) for z, each in pieces
        ]
        return np.concatenate(found)

    @torch.no_grad()
    def _predict(self, z: Tensor) -> NDArray[np.float32]:
        """Return ``[B, S, D]``, what every block leads to from latents ``[B, D]``."""
        model, number = self._model, len(self._blocks)
        if isinstance(model, FrozenModel):
            predicted = self._outcomes_on(model)(z.to(model.device))
        else:
            blocks = self._blocks.repeat(len(z), 1, 1)
            predicted = model.rollout(z.repeat_interleave(number, 0), blocks)[:, -1]
        clouds: NDArray[np.float32] = predicted.cpu().numpy()
        return clouds.reshape(len(z), number, -1)

    def _outcomes_on(self, model: FrozenModel) -> Outcomes:
        """Return what the blocks do to a model, computed where its weights are now."""
        if self._outcomes is None or self._outcomes[0] != model.device:
            blocks = self._blocks[:, 0].to(model.device)
            self._outcomes = model.device, Outcomes(model.network, blocks)
        return self._outcomes[1]


def fit_reach(
    latents: Latents,
    actions: NDArray[np.float32],
    model: WorldModel,
    action_stats: ActionStats,
    *,
    quantile: float = DEFAULT_QUANTILE,
) -> ReachPricing:
    """Return the constants of a model on its recordings.

    s² is the model's error on recorded action blocks. The floor m₀ is the α-quantile of
    m over recorded frames one block apart, as Λ is for gaps. A jump takes a block, and
    one more for every unit of m beyond the floor. Decision: D37.

    Args:
        latents: The corpus as the model encodes it.
        actions: ``[N, A]`` recorded raw actions, NaN where there is none.
        model: The world model.
        action_stats: How the model's actions are normalised.
        quantile: α.
    """
    block = model.action_block
    firsts = first_frames(latents, block)
    blocks = action_stats.normalise(actions)[firsts[:, None] + np.arange(block)]
    starts, ends = latents.z[firsts], latents.z[firsts + block]
    predicted = model.rollout(starts, blocks.reshape(len(firsts), 1, -1))[:, -1]
    noise = float(np.mean(np.square(predicted - ends, dtype=np.float64)))
    if not noise > _NO_ERROR:
        raise ModelError(
            "The model predicts recorded blocks without any error, which no trained "
            "model does: reach cannot be measured with it."
        )
    floor = fit_floor(latents, ModelReach(model, noise), block, quantile)
    return ReachPricing(noise, floor, rate=float(block))


def fit_floor(
    latents: Latents, measure: ReachMeasure, block: int, quantile: float
) -> float:
    """Return m₀: the α-quantile of m over recorded frames one block apart."""
    firsts = first_frames(latents, block)
    starts, ends = latents.z[firsts], latents.z[firsts + block]
    found = [
        measure(starts[i : i + _ROWS], ends[i : i + _ROWS, None])
        for i in range(0, len(firsts), _ROWS)
    ]
    return float(np.quantile(np.concatenate(found), quantile))


def first_frames(latents: Latents, block: int) -> NDArray[np.int64]:
    """Return frames all over the corpus whose episode lasts a block more."""
    frames = np.arange(latents.num_frames - block)
    inside = frames[latents.episode_of(frames) == latents.episode_of(frames + block)]
    if len(inside) == 0:
        raise ModelError(
            f"No episode is longer than one action block ({block} frames)."
        )
    chosen = np.linspace(0, len(inside) - 1, min(_PAIRS, len(inside)))
    return np.asarray(inside[chosen.astype(np.int64)])


def attach_reach(graph: FrameGraph, model: WorldModel) -> FrameGraph:
    """Return the graph with its model's reach, for goals and observations.

    A graph that is priced by gap comes back as it is.
    """
    if graph.reach is None or graph.measure is not None:
        return graph
    return replace(graph, measure=ModelReach(model, graph.reach.noise))
