"""Training of a reach head on recorded pairs of frames: resumable, cheap."""

from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import softplus

from metro.core.latents import Latents
from metro.core.neighbours import NeighbourTable
from metro.errors import ModelError
from metro.models.learned_reach import ReachHead, save_head
from metro.models.reach_measure import first_frames
from metro.models.sequences import split_episodes
from metro.models.train_config import OptimiserConfig
from metro.models.trainer import run_training
from metro.models.training_task import TrainingTask
from metro.types import Progress

Pairs = dict[str, NDArray[np.int64]]
"""Ordered pairs of frames ``[n, 2]``: ``near``, ``far`` and ``alike``."""

STEPS = 4_000
CONFIG = OptimiserConfig(batch_size=1_024, learning_rate=1e-3)
"""Two minutes of one core. Decision: D41."""

_CHECKS = 8


class PairSampler:
    """Pairs of frames: half within a block, the others far apart or alike.

    Near pairs are 1 to ``block`` frames apart, forward. Far ones are more frames apart
    in the same episode, evenly over the logarithm of how many. Alike are a frame and
    one of its neighbours in another episode. The last two are unlabelled rather than
    negative: some can be reached. Decision: D41.

    Args:
        latents: The corpus.
        table: Its neighbours.
        episodes: Where pairs begin.
        block: Frames of an action block.
        config: Batch size and seed.
    """

    def __init__(
        self,
        latents: Latents,
        table: NeighbourTable,
        episodes: NDArray[np.int64],
        block: int,
        config: OptimiserConfig,
    ) -> None:
        offsets = latents.episode_offsets
        frames = np.concatenate([np.arange(*offsets[e : e + 2]) for e in episodes])
        left = offsets[latents.episode_of(frames) + 1] - 1 - frames
        known = np.count_nonzero(table.frame[frames] >= 0, axis=1)
        # Beside every frame how many are after it, or how many look alike.
        self._before = np.stack([frames, left], axis=1)[left > block]
        self._beside = np.stack([frames, known], axis=1)[known > 0]
        if not (len(self._before) and len(self._beside)):
            raise ModelError(
                f"A reach head needs several episodes of more than {block + 1} frames. "
                f"Record more or longer episodes."
            )
        self._table, self._block, self._config = table, block, config

    def batch(self, step: int) -> Pairs:
        """Return the pairs of one optimiser step."""
        rng = np.random.default_rng([self._config.seed, step])
        half, quarter = self._config.batch_size // 2, self._config.batch_size // 4
        near = rng.choice(self._before[:, 0], half)
        far, left = rng.choice(self._before, quarter).T
        apart = self._block * (left / self._block) ** rng.random(quarter)
        alike, known = rng.choice(self._beside, quarter).T
        column = (known * rng.random(quarter)).astype(np.int64)
        ends = {
            "near": (near, near + rng.integers(1, self._block + 1, size=half)),
            "far": (far, far + 1 + apart.astype(np.int64)),
            "alike": (alike, self._table.frame[alike, column]),
        }
        return {name: np.stack(both, axis=1) for name, both in ends.items()}


class HeadTask(TrainingTask[ReachHead]):
    """A reach head, its pairs and its loss: which pairs were recorded in one block.

    Args:
        latents: The corpus.
        table: Its neighbours.
        block: Frames of an action block.
        steps: Optimiser steps.
    """

    def __init__(
        self, latents: Latents, table: NeighbourTable, block: int, steps: int
    ) -> None:
        self.config, self.steps, self.checks = CONFIG, steps, _CHECKS
        self._latents, self._block = latents, block
        split = split_episodes(latents.num_episodes, CONFIG.held_out, CONFIG.seed)
        self.sampler, judged = (
            PairSampler(latents, table, some, block, CONFIG) for some in split
        )
        self._judged = judged.batch(0)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(CONFIG.seed)
            self.network: ReachHead = ReachHead(_recorded_change(latents, block))
        self.auxiliary = nn.ModuleDict()

    def _scores(self, pairs: NDArray[np.int64]) -> Tensor:
        scores: Tensor = self.network(torch.from_numpy(self._latents.z[pairs]))
        return scores

    def loss_terms(self, batch: Pairs, step: int, seed: int) -> dict[str, Tensor]:
        """Return the cross entropy of every kind of pair, by its share."""
        near, far, alike = (self._scores(batch[n]) for n in ("near", "far", "alike"))
        return {
            "near": softplus(-near).mean() / 2,
            "far": softplus(far).mean() / 4,
            "alike": softplus(alike).mean() / 4,
        }

    def freeze(self, num_batches: int) -> ReachHead:
        """Return a copy of the head; it has no batch norms."""
        head = ReachHead(self.network.change.clone())
        head.load_state_dict(self.network.state_dict())
        return head.eval()

    @torch.no_grad()
    def measure(self, step: int, seconds: float) -> dict[str, Any]:
        """Return how often a near pair of a held-out episode scores above others."""
        near, far, alike = (
            self._scores(self._judged[n]) for n in ("near", "far", "alike")
        )
        return {
            f"auc_{name}": round(float((near[:, None] > other).float().mean()), 4)
            for name, other in (("far", far), ("alike", alike))
        }

    def describe(self) -> dict[str, Any]:
        """Return latents, block, steps and settings."""
        about = {"latents": self._latents.digest, "block": self._block}
        return {**about, "steps": self.steps, "recipe": self.config.to_json()}

    def save(self, model: ReachHead, path: Path) -> None:
        """Write the finished head."""
        save_head(model, path, self.describe())


def _recorded_change(latents: Latents, block: int) -> Tensor:
    """Return ``[D]`` how much recorded latents change in one block."""
    firsts = first_frames(latents, block)
    moved = latents.z[firsts + block] - latents.z[firsts]
    change = np.sqrt(np.square(moved, dtype=np.float64).mean(axis=0))
    # A dimension that never changes has no unit: any will do.
    return torch.from_numpy(np.where(change > 0, change, 1)).float()


def train_head(
    latents: Latents,
    table: NeighbourTable,
    path: Path,
    *,
    block: int,
    steps: int = STEPS,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Train a reach head and write it to ``path``; resume if it was interrupted.

    Args:
        latents: The corpus.
        table: Its neighbours; look-alikes are drawn from all of them.
        path: The ``.safetensors`` file to write.
        block: Frames of an action block.
        steps: Optimiser steps.
        progress: Called with (done, total) steps.

    Returns:
        The last entry of its log: how well it tells held-out pairs apart.
    """
    with run_training(
        lambda: HeadTask(latents, table, block, steps),
        path,
        threads=CONFIG.threads,
        progress=progress,
    ) as training:
        return training.log[-1]
