"""One macro network in training: its optimiser, and one step of both."""

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from metro.models.frozen import FrozenModel
from metro.models.macro.macro_config import MacroTrainConfig
from metro.models.macro.macro_networks import MacroNetwork
from metro.models.macro.macro_sizes import MacroSizes
from metro.models.macro.windows import MacroBatch

_CLIP_NORM = 1.0


class MacroLearner:
    """A macro network and all that changes with it from step to step.

    The world model is never touched: its latents are given, and its prediction
    projector is copied as the macro projector's start.

    Args:
        model: The frozen world model.
        sizes: Of the macro network.
        recipe: How to train.
        steps: Optimiser steps of the whole run.
    """

    def __init__(
        self,
        model: FrozenModel,
        sizes: MacroSizes,
        *,
        recipe: MacroTrainConfig,
        steps: int,
    ) -> None:
        self._recipe, self._steps = recipe, steps
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(recipe.seed)
            self.network = MacroNetwork(sizes)
        self.network.high_pred_proj.load_state_dict(
            model.network.pred_proj.state_dict()
        )
        self.network.train()
        self.optimizer = torch.optim.AdamW(
            self.network.parameters(), weight_decay=recipe.weight_decay, fused=True
        )
        self.step = 0

    def advance(self, batch: MacroBatch) -> float:
        """Do one optimiser step; return its loss."""
        for group in self.optimizer.param_groups:
            group["lr"] = self._recipe.rate_at(self.step, self._steps)
        seed = np.random.SeedSequence([self._recipe.seed, self.step]).generate_state(1)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(seed[0]))  # of dropout
            loss = macro_loss(self.network, batch)
        loss.backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), _CLIP_NORM)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        self.step += 1
        return float(loss.detach())

    def state(self) -> dict[str, Any]:
        """Return the state dicts, by the names of a checkpoint."""
        return {
            "network": self.network.state_dict(),
            "heads": {},
            "optimizer": self.optimizer.state_dict(),
        }

    def restore(self, step: int, state: dict[str, Any]) -> None:
        """Go on from a step that `state` was taken after."""
        self.step = step
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])


def macro_loss(network: MacroNetwork, batch: MacroBatch) -> Tensor:
    """Return the mean squared error of every waypoint from the true ones before it."""
    z = torch.from_numpy(batch.z)
    actions = network.encode(
        torch.from_numpy(batch.blocks), torch.from_numpy(batch.is_padding)
    )
    return (network.predict(z[:, :-1], actions) - z[:, 1:]).square().mean()
