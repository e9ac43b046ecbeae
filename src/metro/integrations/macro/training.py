"""Training of macro models on cached latents: resumable, the same bits by seed."""

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from metro.errors import ModelError
from metro.integrations.macro.frozen import MacroModel
from metro.integrations.macro.learner import MacroLearner, macro_loss
from metro.integrations.macro.measuring import window_errors
from metro.integrations.macro.networks import MacroNetwork
from metro.integrations.macro.recipes import MacroRecipe
from metro.integrations.macro.sizes import MacroSizes
from metro.integrations.macro.weights import save_macro
from metro.integrations.macro.windows import Trajectories, WindowSampler, window_starts
from metro.integrations.models.calibration import statistics_anew
from metro.integrations.models.checkpoints import Checkpoint, remove, resume, store
from metro.integrations.models.clips import split_episodes
from metro.integrations.models.frozen import FrozenModel
from metro.integrations.models.interrupts import interrupts_deferred
from metro.integrations.models.presets import ACTION_BLOCK
from metro.types import Progress

CHECKPOINT_SECONDS = 120.0
CHECKS = 15
"""How often in a run the held-out error is measured."""

_CALIBRATION, _QUICK_CALIBRATION = 40, 4
"""Batches that set the batch norms of the finished model, and of one in a check."""


@dataclass(frozen=True)
class MacroTraining:
    """The end of a training run.

    Attributes:
        model: The trained model, as written to ``path``.
        path: Its ``.safetensors`` file.
        steps: Optimiser steps.
        seconds: Time they took, interruptions left out.
        log: What was measured on the way; in ``path.log.json``.
    """

    model: MacroModel
    path: Path
    steps: int
    seconds: float
    log: list[dict[str, Any]] = field(repr=False)


def train_macro(
    source: Trajectories,
    model: FrozenModel,
    path: str | Path,
    *,
    sizes: MacroSizes,
    recipe: MacroRecipe,
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
    with _threads(recipe.threads):
        run = _Run(source, model, path, sizes, recipe)
        run.go(progress)
        trained = run.frozen(_CALIBRATION)
    save_macro(trained, path)
    remove(path)
    return MacroTraining(trained, path, run.steps, run.seconds, run.log)


def split_windows(
    lengths: NDArray[np.int64], recipe: MacroRecipe
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first frames of windows to train on, and of those to judge on."""
    if recipe.split == "episodes":
        kept, held_out = split_episodes(len(lengths), recipe.held_out, recipe.seed)
        return window_starts(lengths, kept), window_starts(lengths, held_out)
    starts = window_starts(lengths, np.arange(len(lengths)))
    order = np.random.default_rng([recipe.seed, len(starts)]).permutation(len(starts))
    number = round(recipe.held_out * len(starts))
    return np.sort(starts[order[number:]]), np.sort(starts[order[:number]])


class _Run:
    """A learner, where its windows come from, and where it is stored."""

    def __init__(
        self,
        source: Trajectories,
        model: FrozenModel,
        path: Path,
        sizes: MacroSizes,
        recipe: MacroRecipe,
    ) -> None:
        self._source, self._path = source, path
        self._sizes, self._recipe = sizes, recipe
        self._encoder, self._benchmark = model.digest, model.benchmark
        self._name = f"macro-{model.name}"
        starts, self._judged = split_windows(source.lengths, recipe)
        self._sampler = WindowSampler(
            source, starts, batch_size=recipe.batch_size, seed=recipe.seed
        )
        self.steps = recipe.epochs * self._sampler.steps_per_epoch
        self._learner = MacroLearner(model, sizes, recipe=recipe, steps=self.steps)
        self.seconds = 0.0
        self.log: list[dict[str, Any]] = []
        self._resume()

    def go(self, progress: Progress | None) -> None:
        """Do the steps that are left; Ctrl-C stops after the step under way."""
        learner = self._learner
        stored = time.monotonic()
        started = stored - self.seconds
        with interrupts_deferred() as asked:
            while learner.step < self.steps:
                loss = learner.advance(self._sampler.batch(learner.step))
                self.seconds = time.monotonic() - started
                self._check_now(loss)
                if asked() or time.monotonic() - stored > CHECKPOINT_SECONDS:
                    self._store()
                    stored = time.monotonic()
                if asked():
                    raise KeyboardInterrupt
                if progress is not None:
                    progress(learner.step, self.steps)

    def frozen(self, num_batches: int) -> MacroModel:
        """Return the model as it is now, calibrated, independent of further steps."""
        network = MacroNetwork(self._sizes)
        network.load_state_dict(self._learner.network.state_dict())
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

    def _check_now(self, loss: float) -> None:
        """Measure the model now and then, and at the end, and log it."""
        step = self._learner.step
        if step % max(1, self.steps // CHECKS) and step != self.steps:
            return
        entry: dict[str, Any] = {"step": step, "loss": round(loss, 5)}
        if len(self._judged):
            errors = window_errors(
                self.frozen(_QUICK_CALIBRATION), self._source, self._judged
            )
            entry |= {name: round(error, 5) for name, error in errors.items()}
        self.log.append(entry | {"seconds": round(self.seconds, 1)})
        unfinished = Path(f"{self._path}.log.unfinished")
        unfinished.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_text(json.dumps(self.log, indent=1))
        os.replace(unfinished, f"{self._path}.log.json")

    def _key(self) -> str:
        """Return all that the run depends on, as text."""
        parts = {"encoder": self._encoder, "sizes": self._sizes.to_json()}
        return json.dumps({**self._notes(), **parts}, sort_keys=True)

    def _store(self) -> None:
        learner = self._learner
        checkpoint = Checkpoint(
            self._key(), learner.step, self.seconds, self.log, **learner.state()
        )
        store(self._path, checkpoint)

    def _resume(self) -> None:
        checkpoint = resume(self._path, self._key())
        if checkpoint is not None:
            self._learner.restore(checkpoint.step, vars(checkpoint))
            self.seconds, self.log = checkpoint.seconds, checkpoint.log


def _check(source: Trajectories, sizes: MacroSizes) -> None:
    given = (source.z.shape[1], ACTION_BLOCK * source.actions.shape[1])
    if given != (sizes.latent_size, sizes.action_size):
        raise ModelError(
            f"The macro network takes latents of {sizes.latent_size} and action blocks "
            f"of {sizes.action_size} numbers, the corpus has {given[0]} and {given[1]}."
        )


@contextmanager
def _threads(number: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
