"""Small footage and models that tests of `metro.models` share."""

from dataclasses import replace

import numpy as np

from metro.models.frozen import FrozenModel
from metro.models.networks import WorldModelNetwork
from metro.models.presets import small_sizes
from metro.models.sequences import TrajectoryDataset
from metro.models.train_config import TrainConfig
from metro.models.trainer import run_training
from metro.models.training import WorldModelTask

TINY = replace(
    small_sizes("tworoom"),
    image_size=16,
    widths=(8, 16),
    latent_size=8,
    projector_size=32,
    depth=1,
    heads=2,
    head_size=8,
    mlp_size=32,
)
"""Sizes of a network that trains in a second."""

QUICK = TrainConfig(steps=6, batch_size=16, num_directions=32, learning_rate=3e-3)


def make_footage(num_episodes=12, length=30, *, seed=0, image_size=16):
    """Return footage of a dot that its actions move: a linear system in pixels."""
    rng = np.random.default_rng(seed)
    actions = rng.uniform(-1, 1, (num_episodes, length, 2)).astype(np.float32)
    # Each direction is kept for a while, so that the dot gets somewhere.
    actions = np.repeat(actions[:, ::10], 10, axis=1)[:, :length]
    places = rng.uniform(0.3, 0.7, (num_episodes, 1, 2)) + 0.02 * np.concatenate(
        [np.zeros((num_episodes, 1, 2)), np.cumsum(actions, axis=1)[:, :-1]], axis=1
    )
    places = places.reshape(-1, 2).astype(np.float32)
    actions = actions.copy()
    actions[:, -1] = np.nan
    return TrajectoryDataset(
        draw_dots(places, image_size),
        actions.reshape(-1, 2),
        np.full(num_episodes, length),
        places,
        ("x", "y"),
        benchmark="tworoom",
        source={"name": "dots", "seed": seed},
    )


def train(dataset, path, config=QUICK, *, sizes=TINY, init=None, progress=None):
    """Return a finished training of a tiny world model."""
    with run_training(
        lambda: WorldModelTask(dataset, sizes, config=config, init=init),
        path,
        threads=config.threads,
        progress=progress,
    ) as training:
        return training


def draw_dots(places, image_size):
    """Return pictures ``[N, S, S, 3]`` of blurred dots at ``[N, 2]`` in [0, 1]."""
    axis = np.arange(image_size) + 0.5
    x, y = (np.square(axis - image_size * places[:, i : i + 1]) for i in (0, 1))
    blurred = np.exp(-(y[:, :, None] + x[:, None, :]) / 4)
    return np.repeat((255 * blurred).astype(np.uint8)[..., None], 3, axis=3)


def make_model(sizes=TINY, **settings):
    """Return a frozen model with random weights, its batch norms not at their start."""
    import torch

    torch.manual_seed(0)
    network = WorldModelNetwork(sizes)
    scramble(network)
    return FrozenModel(
        network, **{"family": "lewm", "benchmark": "tworoom", **settings}
    )


def scramble(network):
    """Give every tensor of a network random values, so that none is left out."""
    import torch

    with torch.no_grad():
        for name, tensor in network.state_dict().items():
            if tensor.is_floating_point():
                tensor.copy_(torch.randn_like(tensor) * 0.05 + tensor)
            if name.endswith("running_var"):
                tensor.abs_().add_(0.5)
