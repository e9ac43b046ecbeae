"""Macro searches: over all latent macro actions, or around recorded ones.

One query at a time, from a stream of its own, so that a solution does not depend on
what else is solved. Letters: S candidates, h macro steps, E numbers in a macro action.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from metro.errors import ModelError
from metro.models.macro.model import MacroModel
from metro.planners.cem import cross_entropy
from metro.planners.hierarchical.bank import Bank
from metro.planners.hierarchical.budgets import RESIDUAL, RESIDUAL_FLOOR, MacroSearch


@dataclass(frozen=True, eq=False)
class MacroPlan:
    """What a macro search found.

    Attributes:
        macro_actions: ``[h, E]``.
        latents: ``[h, D]`` predicted after each of them.
        cost: Squared gap between the last latent and the goal.
        best_costs: The least cost found up to every iteration.
    """

    macro_actions: Tensor
    latents: NDArray[np.float32]
    cost: float
    best_costs: tuple[float, ...]


class MacroSolver(Protocol):
    """Finds macro actions from one latent to another."""

    def solve(
        self,
        observed: NDArray[Any],
        goal: NDArray[Any],
        stream: torch.Generator,
        around: Tensor | None = None,
    ) -> MacroPlan:
        """Return a plan; ``around`` ``[n, E]`` are macro actions to start from."""
        ...


class LatentCEM:
    """Cross-entropy search over latent macro actions; returns the elites' mean.

    Args:
        macro: The macro model.
        search: How hard to search.
        box: ``[2, E]`` least and greatest macro action, or None: no bounds, as in the
            authors' solver.
    """

    def __init__(
        self, macro: MacroModel, search: MacroSearch, box: Tensor | None = None
    ) -> None:
        self._macro, self._search, self._box = macro, search, box

    @torch.inference_mode()
    def solve(
        self,
        observed: NDArray[Any],
        goal: NDArray[Any],
        stream: torch.Generator,
        around: Tensor | None = None,
    ) -> MacroPlan:
        """Return the plan of one query.

        Args:
            observed: ``[D]`` present latent.
            goal: ``[D]`` latent to reach.
            stream: Random numbers; continues where it was.
            around: ``[n, E]`` the first means, n <= h; further ones are 0.
        """
        search = self._search
        ends = _Ends(self._macro, observed, goal)
        mean = torch.zeros(search.macro_steps, self._macro.macro_size)
        if around is not None:
            mean[: len(around)] = around
        spread = torch.full_like(mean, search.spread)
        costs: list[float] = []
        for found in cross_entropy(
            mean,
            spread,
            search,
            draw=lambda mean, spread: self._draw(mean, spread, stream),
            cost=ends.cost,
        ):
            costs.append(min([float(found.costs[found.best[0]]), *costs[-1:]]))
        return ends.plan(found.mean, costs)

    def _draw(self, mean: Tensor, spread: Tensor, stream: torch.Generator) -> Tensor:
        """Return candidates ``[S, h, E]``; the first is the mean itself."""
        shape = (self._search.num_samples, *mean.shape)
        candidates = torch.randn(shape, generator=stream) * spread + mean
        candidates[0] = mean
        # Clipped after drawing: the mean itself may lie outside and is clipped too.
        if self._box is not None:
            candidates = candidates.clamp(self._box[0], self._box[1])
        return candidates


class BankCEM:
    """Cross-entropy search for a residual on recorded sequences; the best found wins.

    Every iteration draws new sequences and adds Gaussian residuals, to all but one
    candidate; the residual is fitted to those of the elites.

    Args:
        macro: The macro model.
        search: How hard to search; its spread scales the first residuals.
        bank: Sequences of as many macro steps as a plan has.
        residual: Standard deviation of the first residuals.
        floor: Least standard deviation of later ones.
    """

    def __init__(
        self,
        macro: MacroModel,
        search: MacroSearch,
        bank: Bank,
        *,
        residual: float = RESIDUAL,
        floor: float = RESIDUAL_FLOOR,
    ) -> None:
        expected = (search.macro_steps, macro.macro_size)
        if tuple(bank.sequences.shape[1:]) != expected:
            raise ModelError(
                f"The bank's sequences must be [K, {expected[0]}, {expected[1]}], got "
                f"{list(bank.sequences.shape)}. Build it for {expected[0]} macro steps."
            )
        self._macro, self._search, self._bank = macro, search, bank
        self._residual, self._floor = residual, floor

    @torch.inference_mode()
    def solve(
        self,
        observed: NDArray[Any],
        goal: NDArray[Any],
        stream: torch.Generator,
        around: Tensor | None = None,
    ) -> MacroPlan:
        """Return the plan of one query; it never starts from an earlier one."""
        search = self._search
        ends = _Ends(self._macro, observed, goal)
        mean = torch.zeros(self._bank.sequences.shape[1:])
        spread = torch.full_like(mean, self._residual * search.spread)
        base = mean  # the sequences that the present residuals are added to

        def draw(mean: Tensor, spread: Tensor) -> Tensor:
            # The cost needs the sequences that were drawn: residuals alone say nothing.
            nonlocal base
            base = self._draw(stream)
            residuals = torch.randn(base.shape, generator=stream) * spread + mean
            # One recorded sequence stays as it is: the search is never worse than it.
            residuals[0] = 0
            return residuals

        plan, least, costs = mean, float("inf"), []
        for found in cross_entropy(
            mean,
            spread,
            search,
            draw=draw,
            cost=lambda residuals: ends.cost(base + residuals),
            fit=self._fit,
        ):
            best = found.best[0]
            if float(found.costs[best]) < least:
                plan = (base + found.candidates)[best]
                least = float(found.costs[best])
            costs.append(least)
        return ends.plan(plan, costs)

    def _draw(self, stream: torch.Generator) -> Tensor:
        """Return whole sequences ``[S, h, E]``, with replacement."""
        sequences = self._bank.sequences
        number = self._search.num_samples
        return sequences[torch.randint(len(sequences), (number,), generator=stream)]

    def _fit(self, elites: Tensor) -> tuple[Tensor, Tensor]:
        """Return mean and spread of residuals; as the authors', never below a floor."""
        spread = elites.std(dim=0, correction=0).clamp_min(self._floor)
        return elites.mean(dim=0), spread


class _Ends:
    """Start and goal of one search."""

    def __init__(
        self, macro: MacroModel, observed: NDArray[Any], goal: NDArray[Any]
    ) -> None:
        expected = (macro.latent_size,)
        if observed.shape != expected or goal.shape != expected:
            raise ModelError(
                f"{macro.name} plans between latents of shape {expected}, got "
                f"{observed.shape} and {goal.shape}."
            )
        self._macro = macro
        self._start = torch.from_numpy(np.array(observed, dtype=np.float32))
        self._goal = torch.from_numpy(np.array(goal, dtype=np.float32))

    def latents(self, candidates: Tensor) -> Tensor:
        """Return predicted latents ``[S, h, D]`` of candidates ``[S, h, E]``."""
        start = self._start.expand(len(candidates), -1)
        return self._macro.rollout(start, candidates)

    def cost(self, candidates: Tensor) -> Tensor:
        """Return ``[S]`` squared gaps between the last latents and the goal."""
        return (self.latents(candidates)[:, -1] - self._goal).square().sum(dim=-1)

    def plan(self, macro_actions: Tensor, costs: list[float]) -> MacroPlan:
        """Return a plan of these macro actions ``[h, E]``."""
        # Predicted once more: a mean of elites was never a candidate.
        latents = self.latents(macro_actions[None])[0]
        cost = float((latents[-1] - self._goal).square().sum())
        return MacroPlan(macro_actions, latents.numpy(), cost, tuple(costs))
