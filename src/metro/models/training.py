"""Training of LeWM and PLDM from plain arrays: resumable, the same bits by seed."""

import json
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.errors import ModelError
from metro.models.action_stats import ActionStats
from metro.models.allocator import keep_freed_memory
from metro.models.calibration import calibrate
from metro.models.checkpoints import remove
from metro.models.frozen import FrozenModel
from metro.models.learner import Learner
from metro.models.networks import WorldModelNetwork
from metro.models.presets import ACTION_BLOCK, Sizes
from metro.models.probes import quick_check
from metro.models.resuming import (
    CALIBRATION,
    QUICK_CALIBRATION,
    ResumableRun,
    torch_threads,
)
from metro.models.sequences import (
    SequenceSampler,
    TrajectoryDataset,
    clip_starts,
    split_episodes,
)
from metro.models.train_config import TrainConfig, model_name
from metro.models.weights import save_model
from metro.types import Progress

CHECKS = 20
"""How often in a run held-out prediction and probes are measured."""


@dataclass(frozen=True)
class Training:
    """The end of a training run.

    Attributes:
        model: The trained model, as written to ``path``.
        path: Its ``.safetensors`` file.
        log: What was measured on the way, one mapping a check; in ``path.log.json``.
    """

    model: FrozenModel
    path: Path
    log: list[dict[str, Any]] = field(repr=False)


def train(
    footage: TrajectoryDataset,
    path: str | Path,
    *,
    sizes: Sizes,
    recipe: TrainConfig,
    init: FrozenModel | None = None,
    progress: Progress | None = None,
) -> Training:
    """Train a world model and write it to ``path``; resume if it was interrupted.

    The same arguments give the same file, also after interruptions. Ctrl-C keeps what
    was done: the next call goes on from there.

    Args:
        footage: The corpus, as arrays.
        path: The ``.safetensors`` file to write.
        sizes: Of the network; its action size must be that of the footage.
        recipe: How to train.
        init: Start from these weights (fine-tuning); its action scaling is kept.
        progress: Called with (done, total) steps.
    """
    path = Path(path)
    if path.exists():
        raise ModelError(f"{path} exists already. Delete it or choose another name.")
    _check_sizes(footage, sizes)
    keep_freed_memory()
    with torch_threads(recipe.threads):
        run = _Run(footage, path, sizes, recipe, init)
        run.go(progress)
        model = run.frozen(CALIBRATION)
    save_model(model, path)
    remove(path)
    return Training(model, path, run.log)


class _Run(ResumableRun):
    """A learner, where its clips come from, and where it is stored."""

    learner: Learner

    def __init__(
        self,
        footage: TrajectoryDataset,
        path: Path,
        sizes: Sizes,
        recipe: TrainConfig,
        init: FrozenModel | None,
    ) -> None:
        super().__init__(CHECKS)
        self.footage, self.path, self.sizes, self.recipe = footage, path, sizes, recipe
        self.steps = recipe.steps
        self.init = None if init is None else init.digest
        self.action_stats = _action_stats(footage, init)
        self.learner = Learner(footage, sizes, recipe=recipe, init=init)
        starts, self.held_out = _split(footage, recipe)
        self.sampler = SequenceSampler(
            footage,
            starts,
            action_stats=self.action_stats,
            batch_size=recipe.batch_size,
            seed=recipe.seed,
            clip_frames=recipe.clip_frames,
        )
        self.resume()

    def advances(self) -> Generator[dict[str, float], None, None]:
        """Do steps, each while the clips of the next one are read."""
        with ThreadPoolExecutor(1) as reader:
            following = reader.submit(self.sampler.batch, self.learner.step)
            while True:
                batch = following.result()
                following = reader.submit(self.sampler.batch, self.learner.step + 1)
                yield self.learner.advance(batch)

    def frozen(self, num_batches: int) -> FrozenModel:
        """Return the model as it is now, calibrated, independent of further steps."""
        network = WorldModelNetwork(self.sizes).to(self.recipe.device)
        network.load_state_dict(self.learner.network.state_dict())
        if not self.recipe.rollout_blocks:  # there the norm stayed as it was
            batches = (self.sampler.batch(step) for step in range(num_batches))
            calibrate(network, batches, part=self.recipe.part)
        network.cpu()
        return FrozenModel(
            network,
            family=self.recipe.family,
            benchmark=self.footage.benchmark,
            rendering=self.footage.rendering,
            action_stats=self.action_stats,
            notes=self._notes(),
        )

    def _notes(self) -> dict[str, Any]:
        preset = "paper" if self.sizes.encoder == "vit" else "small"
        return {
            "name": model_name(self.footage.benchmark, preset, self.recipe),
            "recipe": self.recipe.to_json(),
            "corpus": dict(self.footage.source),
            "init": self.init,
            "num_episodes": len(self.footage.lengths),
            "num_frames": len(self.footage.pixels),
        }

    def measure(self) -> dict[str, Any]:
        """Return held-out prediction and probes, and how fast it goes."""
        frames = self.learner.step * self.recipe.batch_size * self.recipe.clip_frames
        model = self.frozen(QUICK_CALIBRATION)
        return {
            **quick_check(model, self.footage, self.held_out),
            "frames_per_second": round(frames / max(self.seconds, 1e-9)),
        }

    def key(self) -> str:
        """Return all that the run depends on, as text."""
        parts = {**self._notes(), "sizes": self.sizes.to_json()}
        return json.dumps(parts, sort_keys=True)


def _split(
    footage: TrajectoryDataset, recipe: TrainConfig
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first rows of the clips to train on, and the episodes to judge on."""
    number = len(footage.lengths)
    kept, held_out = split_episodes(number, recipe.held_out, recipe.seed)
    rows = recipe.clip_frames * ACTION_BLOCK
    if recipe.split == "episodes":
        return clip_starts(footage.lengths, kept, rows=rows), held_out
    starts = clip_starts(footage.lengths, np.arange(number), rows=rows)
    order = np.random.default_rng([recipe.seed, len(starts)]).permutation(len(starts))
    return np.sort(starts[order[round(recipe.held_out * len(starts)) :]]), held_out


def _action_stats(footage: TrajectoryDataset, init: FrozenModel | None) -> ActionStats:
    known = None if init is None else init.action_stats
    return ActionStats.of(footage.actions) if known is None else known


def _check_sizes(footage: TrajectoryDataset, sizes: Sizes) -> None:
    if footage.image_size != sizes.image_size:
        raise ModelError(
            f"The corpus has frames of {footage.image_size} px, the network takes "
            f"{sizes.image_size} px. Record with --image-size {sizes.image_size}."
        )
    block = ACTION_BLOCK * footage.actions.shape[1]
    if block != sizes.action_size:
        raise ModelError(
            f"The corpus has action blocks of {block} numbers, the network takes "
            f"{sizes.action_size}. It is for another benchmark."
        )
