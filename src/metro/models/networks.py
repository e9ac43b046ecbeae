"""The network of LeWM and PLDM: encoder, projectors, action embedder, predictor.

Attribute names are those of the released state dicts; they must not be changed.
Letters: B sequences, T frames of a sequence, N images, S image size, D latent size.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from metro.models.encoders import build_encoder
from metro.models.predictor import Predictor
from metro.models.presets import Sizes

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)


class Projector(nn.Module):
    """Linear, batch norm, GELU, linear: ``[N, I]`` -> ``[N, D]``."""

    def __init__(self, inputs: int, hidden: int, outputs: int) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(inputs, hidden),
            nn.BatchNorm1d(hidden),
            nn.GELU(),
            nn.Linear(hidden, outputs),
        )

    def forward(self, x: Tensor) -> Tensor:
        """Return the projection of every row."""
        return self.net(x)


class Embedder(nn.Module):
    """Embeds normalised action blocks: ``[B, T, A * 5]`` -> ``[B, T, D]``."""

    def __init__(self, inputs: int, smoothed: int, outputs: int) -> None:
        super().__init__()
        self.patch_embed = nn.Conv1d(inputs, smoothed, kernel_size=1)
        self.embed = nn.Sequential(
            nn.Linear(smoothed, 4 * outputs), nn.SiLU(), nn.Linear(4 * outputs, outputs)
        )

    def forward(self, blocks: Tensor) -> Tensor:
        """Return the embedding of every block."""
        # A convolution of width 1 is a linear layer; this way nothing is transposed.
        kernel = self.patch_embed.weight.squeeze(2)
        smoothed = functional.linear(blocks.float(), kernel, self.patch_embed.bias)
        return self.embed(smoothed)


class WorldModelNetwork(nn.Module):
    """The whole network; `encode` and `predict` are all that a planner needs."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        latent, hidden = sizes.latent_size, sizes.projector_size
        self.encoder, features = build_encoder(sizes)
        self.predictor = Predictor(sizes)
        self.action_encoder = Embedder(sizes.action_size, sizes.smoothed_size, latent)
        self.projector = Projector(features, hidden, latent)
        self.pred_proj = Projector(latent, hidden, latent)

    def encode(self, frames: Tensor) -> Tensor:
        """Return ``[N, D]`` latents of frames ``[N, S, S, 3]``, uint8."""
        return self.projector(self.features(frames))

    def features(self, frames: Tensor) -> Tensor:
        """Return ``[N, F]``, what the encoder sees in frames ``[N, S, S, 3]``, uint8.

        Pixels are normalised as for ImageNet, of ``cnn`` to [-2, 2].
        """
        # The view keeps the order in memory (channels last), which convolutions like.
        if self.sizes.encoder == "cnn":
            images = frames.float().mul_(2 / 127.5).sub_(2).permute(0, 3, 1, 2)
            return self.encoder(images)
        mean = torch.tensor(IMAGENET_MEAN, device=frames.device)
        std = torch.tensor(IMAGENET_STD, device=frames.device)
        images = ((frames / 255 - mean) / std).permute(0, 3, 1, 2).contiguous()
        # As in the published code; at the configured size it changes nothing.
        output = self.encoder(images, interpolate_pos_encoding=True)
        return output.last_hidden_state[:, 0]

    def predict(self, z: Tensor, blocks: Tensor) -> Tensor:
        """Return ``[B, T, D]``: token t is the latent one block after frame t.

        Args:
            z: ``[B, T, D]`` latents, T <= num_frames.
            blocks: ``[B, T, A * 5]`` normalised actions that leave those frames.
        """
        tokens = self.predictor(z, self.action_encoder(blocks))
        # Flat: BatchNorm1d would take the time axis for its channels.
        return self.pred_proj(tokens.flatten(0, 1)).unflatten(0, tokens.shape[:2])
