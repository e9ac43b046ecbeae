"""Training of macro models on cached latents: resumable, the same bits by seed."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from metro.errors import ModelError
from metro.models.calibration import recalculated_norms
from metro.models.frozen import FrozenModel
from metro.models.macro.macro_networks import MacroNetwork
from metro.models.macro.macro_weights import save_macro
from metro.models.macro.metrics import window_errors
from metro.models.macro.model import MacroModel
from metro.models.macro.sizes import MacroSizes
from metro.models.macro.windows import (
    WINDOW_FRAMES,
    MacroBatch,
    Trajectories,
    WindowSampler,
)
from metro.models.presets import ACTION_BLOCK
from metro.models.sequences import split_starts
from metro.models.train_config import MacroTrainConfig
from metro.models.trainer import QUICK_CALIBRATION
from metro.models.training_task import TrainingTask

CHECKS = 15
"""How often in a run the held-out error is measured."""


class MacroTask(TrainingTask[MacroModel]):
    """A macro model's network, its windows and its loss.

    The world model is never touched: its latents are given, and its prediction
    projector is copied as the start of the macro projector.
    """

    def __init__(
        self,
        source: Trajectories,
        model: FrozenModel,
        sizes: MacroSizes,
        config: MacroTrainConfig,
    ) -> None:
        _check_sizes(source, sizes)
        self.config: MacroTrainConfig = config
        self._source, self._sizes = source, sizes
        self._encoder, self._benchmark = model.digest, model.benchmark
        self._name = f"macro-{model.name}"
        starts, self._held_out = split_starts(
            source.lengths, config, rows=WINDOW_FRAMES
        )
        self.sampler = WindowSampler(
            source, starts, batch_size=config.batch_size, seed=config.seed
        )
        self.steps = config.epochs * self.sampler.steps_per_epoch
        self.checks = CHECKS
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.network: MacroNetwork = MacroNetwork(sizes)
        # It maps to this model's latents already; training need not find that again.
        start = model.network.pred_proj.state_dict()
        self.network.high_pred_proj.load_state_dict(start)
        self.network.train()
        self.auxiliary = nn.ModuleDict()

    def loss_terms(self, batch: MacroBatch, step: int, seed: int) -> dict[str, Tensor]:
        """Return the one term of the loss."""
        return {"loss": macro_loss(self.network, batch)}

    def freeze(self, num_batches: int) -> MacroModel:
        """Return the model as it is now, its batch norms calibrated."""
        # A copy: calibration must not touch the statistics that training still uses.
        network = MacroNetwork(self._sizes)
        network.load_state_dict(self.network.state_dict())
        with torch.no_grad(), recalculated_norms(network):
            for step in range(num_batches):
                macro_loss(network, self.sampler.batch(step))
        return MacroModel(
            network,
            encoder_digest=self._encoder,
            benchmark=self._benchmark,
            notes=self._notes(),
        )

    def measure(self, step: int, seconds: float) -> dict[str, Any]:
        """Return the errors on held-out windows, if there are any."""
        if not len(self._held_out):
            return {}
        model = self.freeze(QUICK_CALIBRATION)
        errors = window_errors(model, self._source, self._held_out)
        return {name: round(error, 5) for name, error in errors.items()}

    def _notes(self) -> dict[str, Any]:
        return {
            "name": self._name,
            "recipe": self.config.to_json(),
            "origin": dict(self._source.origin),
            "num_episodes": len(self._source.lengths),
            "num_frames": len(self._source.z),
            "steps": self.steps,
        }

    def describe(self) -> dict[str, Any]:
        """Return encoder, sizes, settings and latents."""
        parts = {"encoder": self._encoder, "sizes": self._sizes.to_json()}
        return {**self._notes(), **parts}

    def save(self, model: MacroModel, path: Path) -> None:
        """Write the finished model."""
        save_macro(model, path)


def macro_loss(network: MacroNetwork, batch: MacroBatch) -> Tensor:
    """Return the mean squared error of every waypoint from the true ones before it."""
    z = torch.from_numpy(batch.z)
    actions = network.encode(
        torch.from_numpy(batch.blocks), torch.from_numpy(batch.is_padding)
    )
    return (network.predict(z[:, :-1], actions) - z[:, 1:]).square().mean()


def _check_sizes(source: Trajectories, sizes: MacroSizes) -> None:
    given = (source.z.shape[1], ACTION_BLOCK * source.actions.shape[1])
    if given != (sizes.latent_size, sizes.action_size):
        raise ModelError(
            f"The macro network takes latents of {sizes.latent_size} and action blocks "
            f"of {sizes.action_size} numbers, the corpus has {given[0]} and {given[1]}."
        )
