"""A small head, trained on recordings, that says what one action block reaches."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from metro.core.latents import Latents
from metro.errors import ModelError
from metro.models.frozen import digest_of
from metro.models.weights import FORMAT, fill, read_tensors, write_tensors

_WIDTH = 256
"""Hidden units of each of the two layers."""

_METADATA_KEY = "metro-reach-head"
"""The key of the file's metadata that holds our JSON."""

_NOT_OURS = (
    "holds no reach head. Choose another file for the rows: the head is kept beside "
    "them."
)


class ReachHead(nn.Module):
    """Scores ordered pairs of latents: high where recordings go from u to v at once.

    It sees z_u and the change z_v − z_u, in units of what recordings change in one
    block. Decision: D41.

    Args:
        change: ``[D]`` that unit.
    """

    change: Tensor

    def __init__(self, change: Tensor) -> None:
        super().__init__()
        self.register_buffer("change", change)
        self.layers = nn.Sequential(
            nn.Linear(2 * len(change), _WIDTH),
            nn.ReLU(),
            nn.Linear(_WIDTH, _WIDTH),
            nn.ReLU(),
            nn.Linear(_WIDTH, 1),
        )

    def forward(self, pairs: Tensor) -> Tensor:
        """Return log-odds ``[B]`` of pairs ``[B, 2, D]``."""
        start, end = pairs.unbind(dim=1)
        seen = torch.cat([start, (end - start) / self.change], dim=-1)
        scores: Tensor = self.layers(seen).squeeze(-1)
        return scores


class LearnedReach:
    """The reach that a trained head tells; a `metro.core.reach.ReachMeasure`.

    m = √(2 log(1 + e^−score)): for a Gaussian, whose m² is twice a negative log
    density, this is the same unit, a standard deviation. Decision: D41.

    Args:
        head: The trained head.
    """

    def __init__(self, head: ReachHead) -> None:
        self.digest = digest_of(head)
        self._head = head

    @torch.inference_mode()
    def __call__(
        self, origins: NDArray[Any], targets: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Return m ``[B, K]`` from origins ``[B, D]`` to targets ``[B, K, D]``."""
        # Copies: torch warns of arrays that cannot be written.
        starts = torch.from_numpy(np.array(origins, dtype=np.float32))
        ends = torch.from_numpy(np.array(targets, dtype=np.float32))
        # One origin at a time: rounding must not know of batches.
        scores = [
            self._head(torch.stack([start.expand_as(some), some], dim=1))
            for start, some in zip(starts, ends, strict=True)
        ]
        found = torch.stack(scores).numpy().astype(np.float64)
        return np.asarray(np.sqrt(2 * np.logaddexp(0, -found)))


def save_head(head: ReachHead, path: Path, about: dict[str, Any]) -> None:
    """Write a head to one ``.safetensors`` file, with what it was trained on."""
    write_tensors(head, _METADATA_KEY, {"format": FORMAT, **about}, path)


def load_head(path: Path, latents: Latents) -> ReachHead:
    """Return the head in a file, trained on ``latents``."""
    about, tensors = read_tensors(path, _METADATA_KEY, _NOT_OURS)
    if about.get("latents") != latents.digest:
        raise ModelError(
            f"{path} was trained on other latents. Choose another file for the rows: "
            f"the head is kept beside them."
        )
    head = ReachHead(torch.ones(latents.z.shape[1]))
    fill(head, tensors, str(path))
    return head.eval()
