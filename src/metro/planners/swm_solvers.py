"""stable-worldmodel's solvers (iCEM, MPPI, gradients, ...) as micro planners."""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from metro.models.action_stats import ActionStats
from metro.models.frozen import FrozenModel
from metro.models.unrolling import unroll


class LatentCost:
    """What a solver of swm minimises: the squared gap of the last predicted latent.

    Args:
        model: Predicts.
    """

    def __init__(self, model: FrozenModel) -> None:
        self._model = model

    def parameters(self) -> Any:
        """Return the weights: solvers take their number format from them."""
        return self._model.network.parameters()

    def get_cost(self, infos: dict[str, Any], candidates: Tensor) -> Tensor:
        """Return ``[B, S]`` for candidates ``[B, S, h, action_block * A]``."""
        device = self._model.device  # solvers may keep their candidates elsewhere
        start, target = (infos[name].to(device) for name in ("observed", "target"))
        number = candidates.shape[:2]
        latents = start.expand(*number, start.shape[-1]).flatten(0, 1)
        # without the guard of `rollout`: some solvers follow gradients
        blocks = candidates.flatten(0, 1).to(device)
        last = unroll(self._model.network, latents, blocks)[:, -1]
        gaps = last.unflatten(0, number) - target.expand(*number, target.shape[-1])
        return gaps.square().sum(dim=-1).to(candidates.device)


class SolverPlanner:
    """Encodes frames, and plans with a solver of stable-worldmodel.

    Proposed actions become the solver's initial action, which all solvers of swm 0.1.1
    for continuous actions start from: CEM, iCEM, MPPI, predictive sampling, gradients
    and the Lagrangian one. How widely they search around it stays their own setting.
    iCEM alone cuts its candidates, hence also recorded actions, at one standard
    deviation of normalised actions.
    Categorical CEM ignores it and projected gradients expect one-hot actions; both
    refuse the continuous actions of a world model anyway. Decision: D38.

    Args:
        model: The frozen world model.
        make_solver: Called with the cost; such as ``lambda cost: ICEMSolver(cost)``.
        plan_blocks: h, action blocks of a plan; all are executed. (iCEM of swm 0.1.1
            needs at least 2.)
        num_envs: How many are planned for, at most.
        action_stats: How the model's actions are normalised.
    """

    def __init__(
        self,
        model: FrozenModel,
        make_solver: Callable[[LatentCost], Any],
        *,
        plan_blocks: int,
        num_envs: int,
        action_stats: ActionStats,
    ) -> None:
        from gymnasium.spaces import Box

        self._model, self._action_stats = model, action_stats
        self._solver = make_solver(LatentCost(model))
        block = model.action_block
        self.num_frames = plan_blocks * block
        config = SimpleNamespace(
            horizon=plan_blocks,
            receding_horizon=plan_blocks,
            action_block=block,
            plan_len=self.num_frames,
            # Plans are executed whole: nothing is left to start the next one from.
            warm_start=False,
        )
        space = Box(-1, 1, (num_envs, model.action_size), dtype=np.float32)
        self._solver.configure(action_space=space, n_envs=num_envs, config=config)

    def encode(self, frames: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return latents ``[B, D]`` of frames ``[B, S, S, 3]``."""
        latents: NDArray[np.float32] = self._model.encode(frames)
        return latents

    def plan(
        self,
        observed: NDArray[Any],
        target: NDArray[Any],
        queries: Sequence[int],
        proposed: NDArray[np.float32] | None = None,
    ) -> NDArray[np.float32]:
        """Return raw actions ``[B, plan_blocks * action_block, A]``.

        The solver starts from ``proposed`` raw actions of the same shape, if given.
        """
        infos = {
            "observed": torch.from_numpy(np.array(observed, dtype=np.float32)),
            "target": torch.from_numpy(np.array(target, dtype=np.float32)),
        }
        first = None
        if proposed is not None:
            width = self._model.action_block * self._model.action_size
            scaled = self._action_stats.normalise(proposed)
            first = torch.from_numpy(scaled.reshape(len(proposed), -1, width))
            # Gradient solvers add their noise to it where they keep their candidates.
            first = first.to(self._model.device)
        blocks = self._solver(infos, init_action=first)["actions"].detach().cpu()
        actions = blocks.numpy().reshape(len(blocks), -1, self._model.action_size)
        return self._action_stats.denormalise(actions)
