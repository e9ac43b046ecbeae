"""A macro model that is no longer trained: what the macro planners work with."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from metro.errors import ModelError, short
from metro.models.frozen import FrozenModel, digest_of
from metro.models.macro.macro_networks import MacroNetwork
from metro.models.macro.sizes import NUM_WAYPOINTS

_CHUNK = 8192
"""Macro actions encoded at once."""


class MacroModel:
    """The macro part of Hi-LeWM in evaluation mode, float32, without gradients.

    Args:
        network: Its weights; switched to evaluation mode.
        encoder_digest: Digest of the world model whose latents it predicts.
        benchmark: What it was trained on, or None if unknown.
        notes: Name, training settings, latents: what else its file says.
    """

    def __init__(
        self,
        network: MacroNetwork,
        *,
        encoder_digest: str,
        benchmark: str | None = None,
        notes: Mapping[str, Any] | None = None,
    ) -> None:
        self.network = network.float().eval().requires_grad_(False)
        self.encoder_digest, self.benchmark = encoder_digest, benchmark
        self.latent_size = network.sizes.latent_size
        self.action_size = network.sizes.action_size
        self.macro_size = network.sizes.macro_size
        self.notes = dict(notes or {})
        self.digest = digest_of(network)

    def __repr__(self) -> str:
        return (
            f"MacroModel(name={self.name!r}, latent_size={self.latent_size}, "
            f"macro_size={self.macro_size}, digest={short(self.digest)!r})"
        )

    @property
    def name(self) -> str:
        """What to call the model."""
        return str(self.notes.get("name") or f"macro-{self.benchmark}")

    @property
    def device(self) -> torch.device:
        """Where the weights are; searches draw and compare on the processor."""
        return next(self.network.parameters()).device

    def to(self, device: str | torch.device) -> "MacroModel":
        """Move the weights to a device, and return the model."""
        self.network.to(device)
        return self

    @torch.inference_mode()
    def encode(self, blocks: Tensor) -> Tensor:
        """Return macro actions ``[B, E]`` of whole chunks ``[B, L, A * 5]``."""
        if blocks.ndim != 3 or blocks.shape[2] != self.action_size:
            raise ModelError(
                f"{self.name} encodes normalised action blocks "
                f"[B, L, {self.action_size}], got {list(blocks.shape)}."
            )
        padding = torch.zeros(blocks.shape[:2], dtype=torch.bool)
        parts = zip(blocks.split(_CHUNK), padding.split(_CHUNK), strict=True)
        made = [
            self.network.encode(some.to(self.device), mask.to(self.device)).cpu()
            for some, mask in parts
        ]
        return torch.cat(made)

    @torch.inference_mode()
    def rollout(self, z: Tensor, macro_actions: Tensor) -> Tensor:
        """Return ``[B, n, D]``, the latents after each of n macro actions.

        Args:
            z: ``[B, D]`` present latents.
            macro_actions: ``[B, n, E]``, n <= 4.
        """
        fits = z.ndim == 2 and macro_actions.ndim == 3 and len(z) == len(macro_actions)
        sizes = (z.shape[-1], macro_actions.shape[-1])
        if not fits or sizes != (self.latent_size, self.macro_size):
            raise ModelError(
                f"{self.name} rolls out latents [B, {self.latent_size}] with macro "
                f"actions [B, n, {self.macro_size}], got {list(z.shape)} and "
                f"{list(macro_actions.shape)}."
            )
        # Beyond, the context would slide, which it never did in training.
        if macro_actions.shape[1] >= NUM_WAYPOINTS:
            raise ModelError(
                f"{self.name} predicts at most {NUM_WAYPOINTS - 1} macro steps, "
                f"got {macro_actions.shape[1]}."
            )
        moved = z.to(self.device), macro_actions.to(self.device)
        return self.network.unroll(*moved).cpu()

    def require_encoder(self, model: FrozenModel) -> None:
        """Raise `ModelError` unless this predicts the latents of ``model``."""
        if self.latent_size != model.latent_size:
            raise ModelError(
                f"{self.name} predicts latents of {self.latent_size} numbers, "
                f"{model.name} has {model.latent_size}. Train it: metro train-macro."
            )
        if self.encoder_digest != model.digest:
            raise ModelError(
                f"{self.name} was trained on latents of model "
                f"{short(self.encoder_digest)}, not of {model.name} "
                f"({short(model.digest)}). Train one: metro train-macro."
            )
