"""Training of LeWM and PLDM from plain arrays: resumable, the same bits by seed."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from metro.errors import ModelError
from metro.models.action_stats import ActionStats
from metro.models.auxiliary_losses import build_auxiliary
from metro.models.calibration import calibrate
from metro.models.frozen import FrozenModel
from metro.models.losses import lewm_terms, pldm_terms, prediction_loss
from metro.models.networks import WorldModelNetwork
from metro.models.presets import ACTION_BLOCK, Sizes
from metro.models.probes import quick_check
from metro.models.sequences import (
    Batch,
    SequenceSampler,
    TrajectoryDataset,
    split_episodes,
    split_starts,
)
from metro.models.sigreg import draw_directions
from metro.models.train_config import TrainConfig, model_name
from metro.models.trainer import QUICK_CALIBRATION
from metro.models.training_task import TrainingTask
from metro.models.unrolling import unroll
from metro.models.weights import fill, save_model

CHECKS = 20
"""How often in a run held-out prediction and probes are measured."""


class WorldModelTask(TrainingTask[FrozenModel]):
    """A world model's network, its data and its loss.

    Weights start from those of ``init`` (fine-tuning); its action statistics are kept.
    """

    def __init__(
        self,
        dataset: TrajectoryDataset,
        sizes: Sizes,
        *,
        config: TrainConfig,
        init: FrozenModel | None = None,
    ) -> None:
        _check_sizes(dataset, sizes)
        self.config: TrainConfig = config
        self.steps, self.checks = config.steps, CHECKS
        self._dataset, self._sizes = dataset, sizes
        self._init = None if init is None else init.digest
        self._build(init)
        # Fine-tuning keeps them: the predictor has learnt actions in these units.
        known = None if init is None else init.action_stats
        self._action_stats = known or ActionStats.of(dataset.actions)
        rows = config.sequence_frames * ACTION_BLOCK
        starts, _ = split_starts(dataset.lengths, config, rows=rows)
        number = len(dataset.lengths)
        # Probes judge whole episodes, also where training holds out single clips.
        _, self._held_out = split_episodes(number, config.held_out, config.seed)
        self.sampler = SequenceSampler(
            dataset,
            starts,
            action_stats=self._action_stats,
            batch_size=config.batch_size,
            seed=config.seed,
            num_frames=config.sequence_frames,
        )

    def _build(self, init: FrozenModel | None) -> None:
        config = self.config
        if config.train_only == "predictor" and init is None:
            raise ModelError(
                "train_only='predictor' keeps an encoder: give the model that has it "
                "as init."
            )
        # Forked, so that the caller's random numbers stay as they were; drawn on the
        # processor, so that the first weights are the same on every device.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(config.seed)
            self.network: WorldModelNetwork = WorldModelNetwork(self._sizes)
            latent_size = self._sizes.latent_size
            self.auxiliary = build_auxiliary(self._dataset, latent_size, config)
        if init is not None:
            fill(self.network, init.network.state_dict(), f"init ({init.name})")
        self.network.to(config.device).train()
        self.auxiliary.to(config.device)
        if config.train_only == "predictor":
            self._freeze_encoder()

    def _freeze_encoder(self) -> None:
        """Let the latents stay as they are, batch norm too."""
        for part in (self.network.encoder, self.network.projector):
            part.requires_grad_(False).eval()
        if self.config.rollout_blocks:
            # Every step of a rollout must see the same norm, the one of planning.
            self.network.pred_proj.eval()

    def loss_terms(self, batch: Batch, step: int, seed: int) -> dict[str, Tensor]:
        """Return the published terms, and those of the auxiliary losses."""
        config = self.config
        blocks = torch.from_numpy(batch.blocks).to(config.device)
        z = self.network.encode(torch.from_numpy(batch.pixels).to(config.device))
        z = z.unflatten(0, (len(blocks), -1))
        if config.rollout_blocks:
            predicted = unroll(self.network, z[:, 0], blocks[:, :-1])
        else:
            predicted = self.network.predict(z[:, :-1], blocks[:, :-1])
        # The latents are fixed: terms against their collapse would be constant.
        if config.train_only == "predictor":
            return {"prediction": prediction_loss(z, predicted)}
        if config.family == "pldm":
            terms = pldm_terms(z, predicted)
        else:
            # On the processor, then moved: the same directions on every device.
            generator = torch.Generator().manual_seed(seed)
            directions = draw_directions(z.shape[2], config.num_directions, generator)
            terms = lewm_terms(z, predicted, directions.to(config.device))
        for name, weight in config.auxiliary_weights_at(step).items():
            head: Any = self.auxiliary[name]
            terms[name] = weight * head.loss(z, batch)
        return terms

    def freeze(self, num_batches: int) -> FrozenModel:
        """Return the model as it is now, its batch norms calibrated."""
        # A copy: calibration must not touch the statistics that training still uses.
        network = WorldModelNetwork(self._sizes).to(self.config.device)
        network.load_state_dict(self.network.state_dict())
        if not self.config.rollout_blocks:  # there the norm stayed as it was
            # Always the first batches: a resumed run calibrates with the same ones.
            batches = (self.sampler.batch(step) for step in range(num_batches))
            calibrate(network, batches, train_only=self.config.train_only)
        network.cpu()
        return FrozenModel(
            network,
            family=self.config.family,
            benchmark=self._dataset.benchmark,
            rendering=self._dataset.rendering,
            action_stats=self._action_stats,
            notes=self._notes(),
        )

    def measure(self, step: int, seconds: float) -> dict[str, Any]:
        """Return held-out prediction and probes, and frames per second."""
        frames = step * self.config.batch_size * self.config.sequence_frames
        model = self.freeze(QUICK_CALIBRATION)
        return {
            **quick_check(model, self._dataset, self._held_out),
            "frames_per_second": round(frames / max(seconds, 1e-9)),
        }

    def _notes(self) -> dict[str, Any]:
        preset = "paper" if self._sizes.encoder == "vit" else "small"
        return {
            "name": model_name(self._dataset.benchmark, preset, self.config),
            "recipe": self.config.to_json(),
            "corpus": dict(self._dataset.source),
            "init": self._init,
            "num_episodes": len(self._dataset.lengths),
            "num_frames": len(self._dataset.pixels),
        }

    def describe(self) -> dict[str, Any]:
        """Return sizes, settings and corpus."""
        return {**self._notes(), "sizes": self._sizes.to_json()}

    def save(self, model: FrozenModel, path: Path) -> None:
        """Write the finished model."""
        save_model(model, path)


def _check_sizes(dataset: TrajectoryDataset, sizes: Sizes) -> None:
    if dataset.image_size != sizes.image_size:
        raise ModelError(
            f"The corpus has frames of {dataset.image_size} px, the network takes "
            f"{sizes.image_size} px. Record with --image-size {sizes.image_size}."
        )
    block = ACTION_BLOCK * dataset.actions.shape[1]
    if block != sizes.action_size:
        raise ModelError(
            f"The corpus has action blocks of {block} numbers, the network takes "
            f"{sizes.action_size}. It is for another benchmark."
        )
