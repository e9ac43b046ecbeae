"""Small trajectories, macro models and solvers that tests of macro parts share."""

from dataclasses import replace

import numpy as np
import torch
from model_makers import TINY, make_model, scramble

from metro.models.action_stats import ActionStats
from metro.models.macro.macro_networks import MacroNetwork
from metro.models.macro.model import MacroModel
from metro.models.macro.sizes import MacroSizes, macro_sizes_for
from metro.models.macro.windows import Trajectories
from metro.models.train_config import MacroTrainConfig

SIZES = replace(
    macro_sizes_for("small", TINY),
    macro_size=4,
    encoder_width=16,
    encoder_heads=2,
    encoder_mlp=32,
    depth=1,
    heads=2,
    head_size=8,
    mlp_size=32,
)
"""Sizes of a macro network on `TINY` that trains in a second."""

QUICK = MacroTrainConfig(epochs=2, batch_size=16, learning_rate=3e-3)

ACTION_STATS = ActionStats([0.0, 0.0], [1.0, 1.0])


def make_trajectories(num_episodes=12, length=100, *, seed=0):
    """Return a linear system: actions, mixed into 8 numbers, move the latent."""
    rng = np.random.default_rng(seed)
    actions = rng.uniform(-1, 1, (num_episodes, length, 2)).astype(np.float32)
    # Each direction is kept for a while, so that the latent gets somewhere.
    actions = np.repeat(actions[:, ::10], 10, axis=1)[:, :length]
    moves = np.cumsum(actions, axis=1)[:, :-1] / 10
    places = np.concatenate([np.zeros((num_episodes, 1, 2)), moves], axis=1)
    places += rng.normal(size=(num_episodes, 1, 2))
    z = places @ np.random.default_rng(99).normal(size=(2, 8)) / 2
    return Trajectories(
        z.reshape(-1, 8).astype(np.float32),
        actions.reshape(-1, 2),
        np.full(num_episodes, length),
        {"corpus": {"name": "linear", "digest": f"seed {seed}"}},
    )


def make_frozen(**settings):
    """Return a tiny frozen world model that knows its action statistics."""
    return make_model(action_stats=ACTION_STATS, **settings)


def make_macro(model=None, sizes: MacroSizes = SIZES, **settings):
    """Return a macro model with random weights on a tiny world model."""
    model = model or make_frozen()
    torch.manual_seed(1)
    network = MacroNetwork(sizes)
    scramble(network)
    return MacroModel(
        network,
        **{"encoder_digest": model.digest, "benchmark": "tworoom", **settings},
    )
