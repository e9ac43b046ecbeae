"""A world model that is no longer trained: what planners and encoders work with."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from metro.errors import ModelError, short
from metro.models.action_stats import ActionStats, require_stats
from metro.models.key_names import to_released
from metro.models.networks import WorldModelNetwork
from metro.models.presets import ACTION_BLOCK
from metro.models.unrolling import unroll

_CHUNK = 256
"""Frames encoded at once: more is not faster, and takes more memory."""

_ROWS = 1_200
"""Rows unrolled at once on a processor: what they need stays in its cache."""

_MIN_BATCH = 16
"""Fewest rows that are projected together. Products of fewer are summed in another
order, and a frame's latent would depend on how many are encoded beside it."""


class FrozenModel:
    """LeWM or PLDM in evaluation mode, float32, without gradients.

    Implements `metro.types.WorldModel`. NumPy in, NumPy out; torch in, torch out.

    Args:
        network: Its weights; switched to evaluation mode.
        family: ``lewm`` or ``pldm``.
        benchmark: What it was trained on, or None if unknown.
        rendering: How its frames must be drawn: ``stock`` or ``fast``.
        action_stats: Mean and std of raw actions, or None if unknown: then planners
            need those of the corpus.
        notes: Name, training settings, corpus: what else its file says.
    """

    action_block = ACTION_BLOCK

    def __init__(
        self,
        network: WorldModelNetwork,
        *,
        family: str,
        benchmark: str | None = None,
        rendering: str = "stock",
        action_stats: ActionStats | None = None,
        notes: Mapping[str, Any] | None = None,
    ) -> None:
        # Gaps are compared bit for bit, so all models compute in one precision.
        self.network = network.float().eval().requires_grad_(False)
        self.family, self.benchmark, self.rendering = family, benchmark, rendering
        sizes = network.sizes
        self.latent_size, self.image_size = sizes.latent_size, sizes.image_size
        self.action_size = sizes.action_size // self.action_block
        self.action_stats = action_stats
        if action_stats is not None:
            require_stats(self)
        self.notes = dict(notes or {})
        self.digest = digest_of(network)

    def __repr__(self) -> str:
        return (
            f"FrozenModel(family={self.family!r}, benchmark={self.benchmark!r}, "
            f"latent_size={self.latent_size}, image_size={self.image_size}, "
            f"digest={short(self.digest)!r})"
        )

    @property
    def name(self) -> str:
        """What to call the model: its own name, or the family and benchmark."""
        return str(self.notes.get("name") or f"{self.family}-{self.benchmark}")

    @property
    def device(self) -> torch.device:
        """Where the weights are."""
        return self.network.predictor.pos_embedding.device

    def to(self, device: str | torch.device) -> "FrozenModel":
        """Move the weights to a device, and return the model."""
        self.network.to(device)
        return self

    @torch.no_grad()
    def encode(self, frames: Any) -> Any:
        """Return ``[N, D]`` float32 latents of frames ``[N, S, S, 3]`` uint8.

        A latent is the same bit for bit whatever is encoded beside it. Decision: D14.
        """
        self._check_frames(frames)
        # Converted chunk by chunk: frames may be a memory map larger than memory.
        parts = [
            self._encode(self._taken(frames[first : first + _CHUNK]))
            for first in range(0, len(frames), _CHUNK)
        ]
        z = torch.cat(parts) if parts else torch.empty(0, self.latent_size)
        return z if isinstance(frames, Tensor) else z.cpu().numpy()

    def _encode(self, frames: Tensor) -> Tensor:
        features = self.network.features(frames)
        missing = max(0, _MIN_BATCH - len(features))
        padded = functional.pad(features, (0, 0, 0, missing))
        return self.network.projector(padded)[: len(features)]

    @torch.no_grad()
    def rollout(self, z: Any, actions: Any) -> Any:
        """Return ``[B, T, D]``, the latents after each of T action blocks.

        The context grows from the one latent given to the three that the predictor
        sees at most.

        Args:
            z: ``[B, D]`` present latents.
            actions: ``[B, T, action_block * A]`` normalised actions, in time order.
        """
        self._check_rollout(z, actions)
        blocks, present = self._taken(actions).float(), self._taken(z).float()
        number = -(-len(present) // _ROWS) if self.device.type == "cpu" else 1
        # Even pieces, not full ones and a rest: few rows are summed in another order.
        pieces = (array.tensor_split(max(number, 1)) for array in (present, blocks))
        predicted = torch.cat(
            [unroll(self.network, *piece) for piece in zip(*pieces, strict=True)]
        )
        return predicted if isinstance(z, Tensor) else predicted.cpu().numpy()

    def _taken(self, array: Any) -> Tensor:
        if isinstance(array, Tensor):
            return array.to(self.device)
        # Copied: torch warns about arrays that it must not write to.
        return torch.from_numpy(np.array(array)).to(self.device)

    def _check_frames(self, frames: Any) -> None:
        expected = (self.image_size, self.image_size, 3)
        kind = str(frames.dtype).removeprefix("torch.")
        if frames.ndim != 4 or tuple(frames.shape[1:]) != expected or kind != "uint8":
            raise ModelError(
                f"{self.name} encodes uint8 frames [N, {', '.join(map(str, expected))}]"
                f", got {kind} of {list(frames.shape)}."
            )

    def _check_rollout(self, z: Any, actions: Any) -> None:
        block = self.action_block * self.action_size
        fits = z.ndim == 2 and actions.ndim == 3 and len(z) == len(actions)
        if not fits or (z.shape[1], actions.shape[2]) != (self.latent_size, block):
            raise ModelError(
                f"{self.name} rolls out latents [B, {self.latent_size}] with actions "
                f"[B, T, {block}], got {list(z.shape)} and {list(actions.shape)}."
            )


@dataclass(frozen=True)
class Health:
    """Whether latents distinguish frames.

    Attributes:
        cosine: Mean cosine between the latents of different random frames.
        effective_rank: exp of the entropy of the covariance's spectrum, in [1, D].
        mean_norm: Mean length of a latent; near sqrt(D) for LeWM.
        is_collapsed: Whether nearly all frames have the same latent.
    """

    cosine: float
    effective_rank: float
    mean_norm: float
    is_collapsed: bool


def check_health(z: NDArray[np.float32]) -> Health:
    """Return the health of ``[N, D]`` latents of random frames, N >= 2."""
    rows = np.asarray(z, dtype=np.float64)
    norms = np.linalg.norm(rows, axis=1)
    # A latent of zeros has no direction; it must count as 0, not as NaN.
    directions = rows / np.maximum(norms, 1e-12)[:, None]
    number = len(rows)
    # The mean over all pairs from two sums, without an N x N matrix of cosines.
    together = np.square(directions.sum(axis=0)).sum() - np.square(directions).sum()
    cosine = together / (number * (number - 1))
    rank = effective_rank(rows)
    collapsed = bool(cosine > 0.98 or rank < 1.5 or norms.max() < 1e-6)
    return Health(float(cosine), rank, float(norms.mean()), collapsed)


def effective_rank(z: NDArray[Any]) -> float:
    """Return exp(-Σ p log p) over the shares p of the covariance's eigenvalues."""
    # With a single column np.cov returns a scalar, which eigvalsh refuses.
    spectrum = np.linalg.eigvalsh(np.atleast_2d(np.cov(z, rowvar=False)))
    # Rounding makes eigenvalues slightly negative where latents are flat.
    spectrum = np.maximum(spectrum, 0)
    if spectrum.sum() == 0:
        return 1.0
    shares = spectrum[spectrum > 0] / spectrum.sum()
    return float(np.exp(-(shares * np.log(shares)).sum()))


def digest_of(network: nn.Module) -> str:
    """Return the sha256 of the weights, under their released names."""
    sha = hashlib.sha256()
    # Sorted, as released: one digest under any version of transformers.
    for name, tensor in sorted(to_released(network.state_dict()).items()):
        # The shape too: the same bytes in another shape are another network.
        sha.update(f"{name} {tuple(tensor.shape)};".encode())
        sha.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return sha.hexdigest()
