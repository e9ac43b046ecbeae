"""Training of macro models on cached latents: resumable, the same bits by seed."""

import json
from collections.abc import Generator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from metro.errors import ModelError
from metro.models.calibration import statistics_anew
from metro.models.checkpoints import remove
from metro.models.frozen import FrozenModel
from metro.models.macro.macro_config import MacroTrainConfig
from metro.models.macro.macro_learner import MacroLearner, macro_loss
from metro.models.macro.macro_metrics import window_errors
from metro.models.macro.macro_model import MacroModel
from metro.models.macro.macro_networks import MacroNetwork
from metro.models.macro.macro_sizes import MacroSizes
from metro.models.macro.macro_weights import save_macro
from metro.models.macro.windows import Trajectories, WindowSampler, window_starts
from metro.models.presets import ACTION_BLOCK
from metro.models.resuming import (
    CALIBRATION,
    QUICK_CALIBRATION,
    ResumableRun,
    torch_threads,
)
from metro.models.sequences import split_episodes
from metro.types import Progress

CHECKS = 15
"""How often in a run the held-out error is measured."""


@dataclass(frozen=True)
class MacroTraining:
    """The end of a training run.

    Attributes:
        model: The trained model, as written to ``path``.
        path: Its ``.safetensors`` file.
        steps: Optimiser steps.
        seconds: Time they took, interruptions left out.
        cpu_seconds: Processor time they took, all threads.
        log: What was measured on the way; in ``path.log.json``.
    """

    model: MacroModel
    path: Path
    steps: int
    seconds: float
    cpu_seconds: float
    log: list[dict[str, Any]] = field(repr=False)


def train_macro(
    source: Trajectories,
    model: FrozenModel,
    path: str | Path,
    *,
    sizes: MacroSizes,
    recipe: MacroTrainConfig,
    progress: Progress | None = None,
) -> MacroTraining:
    """Train a macro model and write it to ``path``; resume if it was interrupted.

    The same arguments give the same file, also after interruptions. Ctrl-C keeps what
    was done: the next call goes on from there.

    Args:
        source: Latents of ``model`` and normalised actions.
        model: The frozen world model; it is not changed.
        path: The ``.safetensors`` file to write.
        sizes: Of the macro network.
        recipe: How to train.
        progress: Called with (done, total) steps.
    """
    path = Path(path)
    if path.exists():
        raise ModelError(f"{path} exists already. Delete it or choose another name.")
    _check(source, sizes)
    with torch_threads(recipe.threads):
        run = _Run(source, model, path, sizes, recipe)
        run.go(progress)
        trained = run.frozen(CALIBRATION)
    save_macro(trained, path)
    remove(path)
    return MacroTraining(
        trained, path, run.steps, run.seconds, run.cpu_seconds, run.log
    )


def split_windows(
    lengths: NDArray[np.int64], recipe: MacroTrainConfig
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first frames of windows to train on, and of those to judge on."""
    if recipe.split == "episodes":
        kept, held_out = split_episodes(len(lengths), recipe.held_out, recipe.seed)
        return window_starts(lengths, kept), window_starts(lengths, held_out)
    starts = window_starts(lengths, np.arange(len(lengths)))
    order = np.random.default_rng([recipe.seed, len(starts)]).permutation(len(starts))
    number = round(recipe.held_out * len(starts))
    return np.sort(starts[order[number:]]), np.sort(starts[order[:number]])


class _Run(ResumableRun):
    """A learner, where its windows come from, and where it is stored."""

    learner: MacroLearner

    def __init__(
        self,
        source: Trajectories,
        model: FrozenModel,
        path: Path,
        sizes: MacroSizes,
        recipe: MacroTrainConfig,
    ) -> None:
        super().__init__(CHECKS)
        self._source, self.path = source, path
        self._sizes, self._recipe = sizes, recipe
        self._encoder, self._benchmark = model.digest, model.benchmark
        self._name = f"macro-{model.name}"
        starts, self._judged = split_windows(source.lengths, recipe)
        self._sampler = WindowSampler(
            source, starts, batch_size=recipe.batch_size, seed=recipe.seed
        )
        self.steps = recipe.epochs * self._sampler.steps_per_epoch
        self.learner = MacroLearner(model, sizes, recipe=recipe, steps=self.steps)
        self.resume()

    def advances(self) -> Generator[dict[str, float], None, None]:
        """Do steps."""
        while True:
            batch = self._sampler.batch(self.learner.step)
            yield {"loss": self.learner.advance(batch)}

    def frozen(self, num_batches: int) -> MacroModel:
        """Return the model as it is now, calibrated, independent of further steps."""
        network = MacroNetwork(self._sizes)
        network.load_state_dict(self.learner.network.state_dict())
        with torch.no_grad(), statistics_anew(network):
            for step in range(num_batches):
                macro_loss(network, self._sampler.batch(step))
        return MacroModel(
            network,
            encoder_digest=self._encoder,
            benchmark=self._benchmark,
            notes=self._notes(),
        )

    def _notes(self) -> dict[str, Any]:
        return {
            "name": self._name,
            "recipe": self._recipe.to_json(),
            "origin": dict(self._source.origin),
            "num_episodes": len(self._source.lengths),
            "num_frames": len(self._source.z),
            "steps": self.steps,
        }

    def measure(self) -> dict[str, Any]:
        """Return the errors on held-out windows, if there are any."""
        if not len(self._judged):
            return {}
        model = self.frozen(QUICK_CALIBRATION)
        errors = window_errors(model, self._source, self._judged)
        return {name: round(error, 5) for name, error in errors.items()}

    def key(self) -> str:
        """Return all that the run depends on, as text."""
        parts = {"encoder": self._encoder, "sizes": self._sizes.to_json()}
        return json.dumps({**self._notes(), **parts}, sort_keys=True)


def _check(source: Trajectories, sizes: MacroSizes) -> None:
    given = (source.z.shape[1], ACTION_BLOCK * source.actions.shape[1])
    if given != (sizes.latent_size, sizes.action_size):
        raise ModelError(
            f"The macro network takes latents of {sizes.latent_size} and action blocks "
            f"of {sizes.action_size} numbers, the corpus has {given[0]} and {given[1]}."
        )
