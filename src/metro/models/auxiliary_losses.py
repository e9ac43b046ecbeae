"""Auxiliary losses: what z must also predict while training; not in the model."""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from metro.errors import ModelError
from metro.models.sequences import Batch, TrajectoryDataset
from metro.models.train_config import TrainConfig

_EDGE = 16
"""Height and width of the thumbnails that a pixel head draws."""

_HIDDEN = 256
_SAMPLED = 2000
_FLOOR = 0.02
"""Least spread of a pixel, of 1: those that never change must not count."""


class StateHead(nn.Linear):
    """Reads the recorded state, standardised, from z by one linear layer."""

    def loss(self, z: Tensor, batch: Batch) -> Tensor:
        """Return the mean squared error for latents ``[B, T, D]``."""
        if batch.states is None:  # checked in `build_auxiliary`
            raise AssertionError("a state head without states")
        return (self(z) - torch.from_numpy(batch.states).to(z.device)).square().mean()


class PixelHead(nn.Module):
    """Draws a thumbnail of the frame from z; each pixel standardised over the corpus.

    Standardised, a small thing that moves counts as much as a large one.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, latent_size: int, dataset: TrajectoryDataset) -> None:
        super().__init__()
        edge = min(_EDGE, dataset.image_size)
        self.net = nn.Sequential(
            nn.Linear(latent_size, _HIDDEN),
            nn.GELU(),
            nn.Linear(_HIDDEN, 3 * edge * edge),
        )
        # Not the run's seed: the spread belongs to the corpus, the same for all runs.
        rng = np.random.default_rng(0)
        number = min(_SAMPLED, len(dataset.pixels))
        rows = np.sort(rng.choice(len(dataset.pixels), number, replace=False))
        drawn = self._thumbnails(torch.from_numpy(np.array(dataset.pixels[rows])))
        # Buffers: they follow the module to its device and into checkpoints.
        self.register_buffer("mean", drawn.mean(0))
        self.register_buffer("std", drawn.std(0).clamp_min(_FLOOR))

    def loss(self, z: Tensor, batch: Batch) -> Tensor:
        """Return the mean squared error for latents ``[B, T, D]``."""
        pixels = torch.from_numpy(batch.pixels).to(z.device)
        targets = (self._thumbnails(pixels) - self.mean) / self.std
        return (self.net(z.flatten(0, 1)) - targets).square().mean()

    @staticmethod
    def _thumbnails(frames: Tensor) -> Tensor:
        """Return ``[N, 3 * edge²]`` in [0, 1], each pixel the mean of its area."""
        images = frames.permute(0, 3, 1, 2).float() / 255
        edge = min(_EDGE, images.shape[2])
        return functional.adaptive_avg_pool2d(images, edge).flatten(1)


def build_auxiliary(
    dataset: TrajectoryDataset, latent_size: int, config: TrainConfig
) -> nn.ModuleDict:
    """Return the modules of the auxiliary losses, by the name of their loss."""
    heads = nn.ModuleDict()
    if config.state_head != "none":
        if dataset.states is None:
            raise ModelError(
                f"state_head={config.state_head!r} needs the true state of every "
                f"frame; the corpus has none. Use state_head='none'."
            )
        heads["state"] = StateHead(latent_size, len(dataset.state_names))
    if config.pixel_head != "none":
        heads["pixels"] = PixelHead(latent_size, dataset)
    return heads
