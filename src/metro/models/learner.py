"""One network in training: its optimiser, auxiliary heads, and one step of all."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from metro.errors import ModelError
from metro.models.auxiliary_losses import build_heads
from metro.models.frozen import FrozenModel
from metro.models.losses import (
    lewm_terms,
    pldm_terms,
    prediction_loss,
    total,
)
from metro.models.networks import WorldModelNetwork
from metro.models.presets import Sizes
from metro.models.sequences import Batch, TrajectoryDataset
from metro.models.sigreg import draw_directions
from metro.models.train_config import TrainConfig
from metro.models.unrolling import unroll
from metro.models.weights import fill

_CLIP_NORM = 1.0


class Learner:
    """A network and all that changes with it from step to step.

    Every step draws its random numbers from the seed and its own number, so that the
    three state dicts and the number of steps are all that resuming needs.

    Args:
        footage: What the auxiliary heads are fitted to.
        sizes: Of the network.
        recipe: How to train.
        init: Weights to start from.
    """

    def __init__(
        self,
        footage: TrajectoryDataset,
        sizes: Sizes,
        *,
        recipe: TrainConfig,
        init: FrozenModel | None,
    ) -> None:
        self._recipe = recipe
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(recipe.seed)
            self.network = WorldModelNetwork(sizes)
            self.heads = build_heads(footage, sizes.latent_size, recipe)
        if recipe.part == "predictor" and init is None:
            raise ModelError(
                "part='predictor' keeps an encoder: give the model that has it as init."
            )
        if init is not None:
            fill(self.network, init.network.state_dict(), f"init ({init.name})")
        self.network.to(recipe.device).train()
        self.heads.to(recipe.device)
        if recipe.part == "predictor":
            self._freeze_encoder()
        trained = [*self.network.parameters(), *self.heads.parameters()]
        self._parameters = [weight for weight in trained if weight.requires_grad]
        self.optimizer = torch.optim.AdamW(
            self._parameters, weight_decay=recipe.weight_decay, fused=True
        )
        self.step = 0

    def _freeze_encoder(self) -> None:
        """Let the latents stay as they are, batch norm too."""
        for part in (self.network.encoder, self.network.projector):
            part.requires_grad_(False).eval()
        if self._recipe.rollout_blocks:
            # Every step of a rollout must see the same norm, the one of planning.
            self.network.pred_proj.eval()

    def advance(self, batch: Batch) -> dict[str, float]:
        """Do one optimiser step; return its weighted terms."""
        for group in self.optimizer.param_groups:
            group["lr"] = self._recipe.rate_at(self.step)
        terms = self._terms(batch)
        total(terms).backward()
        nn.utils.clip_grad_norm_(self._parameters, _CLIP_NORM)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        return {name: float(term.detach()) for name, term in terms.items()}

    def state(self) -> dict[str, Any]:
        """Return the state dicts, by the names of a checkpoint."""
        return {
            "network": self.network.state_dict(),
            "heads": self.heads.state_dict(),
            "optimizer": self.optimizer.state_dict(),
        }

    def restore(self, step: int, state: dict[str, Any]) -> None:
        """Go on from a step that `state` was taken after."""
        self.step = step
        self.network.load_state_dict(state["network"])
        self.heads.load_state_dict(state["heads"])
        self.optimizer.load_state_dict(state["optimizer"])

    def _terms(self, batch: Batch) -> dict[str, Tensor]:
        recipe = self._recipe
        seed = np.random.SeedSequence([recipe.seed, self.step]).generate_state(1)
        torch.manual_seed(int(seed[0]))  # of dropout
        blocks = torch.from_numpy(batch.blocks).to(recipe.device)
        z = self.network.encode(torch.from_numpy(batch.pixels).to(recipe.device))
        z = z.unflatten(0, (len(blocks), -1))
        if recipe.rollout_blocks:
            predicted = unroll(self.network, z[:, 0], blocks[:, :-1])
        else:
            predicted = self.network.predict(z[:, :-1], blocks[:, :-1])
        if recipe.part == "predictor":
            return {"prediction": prediction_loss(z, predicted)}
        if recipe.family == "pldm":
            terms = pldm_terms(z, predicted)
        else:
            generator = torch.Generator().manual_seed(int(seed[0]))
            directions = draw_directions(z.shape[2], recipe.num_directions, generator)
            terms = lewm_terms(z, predicted, directions.to(recipe.device))
        for name, weight in recipe.head_weights_at(self.step).items():
            head: Any = self.heads[name]
            terms[name] = weight * head.loss(z, batch)
        return terms
