"""The micro planner: cross-entropy search for the action blocks that reach a latent.

On one environment it draws the numbers that stable-worldmodel's solver draws with the
same seed. Several environments are solved together, each from a stream of its own, so
that a plan does not depend on what else is solved beside it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from metro.errors import ModelError
from metro.types import WorldModel


@dataclass(frozen=True)
class CEMSettings:
    """How hard to search; the defaults are the published ones, for PushT.

    Attributes:
        plan_blocks: h, action blocks of a plan.
        num_samples: Candidates in an iteration.
        num_elites: Best candidates that the next iteration is drawn around.
        iterations: How often.
        spread: Standard deviation of the first candidates, normalised actions.
    """

    plan_blocks: int = 5
    num_samples: int = 300
    num_elites: int = 30
    iterations: int = 30
    spread: float = 1.0

    def __post_init__(self) -> None:
        for name in ("plan_blocks", "num_samples", "iterations"):
            if getattr(self, name) < 1:
                raise ModelError(
                    f"{name} must be at least 1, got {getattr(self, name)}."
                )
        # One elite has no standard deviation: all later candidates would be NaN.
        if not 2 <= self.num_elites <= self.num_samples:
            raise ModelError(
                f"num_elites must be in [2, {self.num_samples}], got {self.num_elites}."
            )


def make_stream(seed: int) -> torch.Generator:
    """Return the random numbers of one environment; the same ones for a seed."""
    return torch.Generator().manual_seed(seed)


class SearchBudget(Protocol):
    """How many iterations a cross-entropy search has, and how many elites."""

    @property
    def iterations(self) -> int:
        """Number of iterations."""
        ...

    @property
    def num_elites(self) -> int:
        """Best candidates that the next iteration is drawn around."""
        ...


class Iteration(NamedTuple):
    """One iteration of a cross-entropy search.

    Attributes:
        mean: ``[..., h, W]`` mean of the elites.
        candidates: ``[..., S, h, W]`` what was drawn.
        costs: ``[..., S]`` cost of each.
        best: ``[..., E]`` numbers of the elites, the cheapest first.
    """

    mean: Tensor
    candidates: Tensor
    costs: Tensor
    best: Tensor


def fit_normal(elites: Tensor) -> tuple[Tensor, Tensor]:
    """Return mean and standard deviation ``[..., h, W]`` of ``[..., E, h, W]``."""
    return elites.mean(dim=-3), elites.std(dim=-3)


def cross_entropy(
    mean: Tensor,
    spread: Tensor,
    budget: SearchBudget,
    *,
    draw: Callable[[Tensor, Tensor], Tensor],
    cost: Callable[[Tensor], Tensor],
    fit: Callable[[Tensor], tuple[Tensor, Tensor]] = fit_normal,
) -> Iterator[Iteration]:
    """Yield every iteration of a cross-entropy search; all our CEMs are this loop.

    Draw candidates, keep the cheapest, fit the next distribution to them. Letters: S
    candidates, E elites, h steps, W numbers per step; ``...`` is a batch or nothing.

    Args:
        mean: ``[..., h, W]`` where the first candidates are drawn.
        spread: ``[..., h, W]`` their standard deviation.
        budget: Iterations and elites.
        draw: Returns candidates ``[..., S, h, W]`` for a mean and a spread.
        cost: Returns costs ``[..., S]`` of candidates.
        fit: Returns the next mean and spread from elites ``[..., E, h, W]``.
    """
    for _ in range(budget.iterations):
        candidates = draw(mean, spread)
        costs = cost(candidates)
        best = costs.topk(budget.num_elites, dim=-1, largest=False).indices
        mean, spread = fit(_pick(candidates, best))
        yield Iteration(mean, candidates, costs, best)


def _pick(candidates: Tensor, best: Tensor) -> Tensor:
    # A batch of one is not the same as no batch: torch may sum it in another order.
    if best.ndim == 1:
        return candidates[best]
    return candidates[torch.arange(len(best))[:, None], best]


class CEM:
    """Finds action blocks whose predicted last latent is nearest to a target.

    Decision: D14.

    Args:
        model: The world model; must take torch tensors in ``rollout``.
        settings: How hard to search.
    """

    def __init__(self, model: WorldModel, settings: CEMSettings) -> None:
        self.model, self.settings = model, settings

    def plan(
        self,
        observed: NDArray[Any],
        target: NDArray[Any],
        streams: Sequence[torch.Generator],
        around: NDArray[Any] | None = None,
        spread: NDArray[Any] | None = None,
    ) -> NDArray[np.float32]:
        """Return plans ``[B, h, action_block * A]`` in normalised actions.

        Args:
            observed: ``[B, D]`` present latents.
            target: ``[B, D]`` latents to reach.
            streams: B sources of random numbers; each continues where it was.
            around: ``[B, h, action_block * A]`` the first means; 0 if not given.
            spread: ``[action_block * A]`` the first standard deviations; those of the
                settings if not given.
        """
        chosen = self.settings
        width = self.model.action_block * self.model.action_size
        start, end = _tensor(observed), _tensor(target)
        mean = torch.zeros(len(start), chosen.plan_blocks, width)
        if around is not None:
            mean = mean + _tensor(around)
        first_spread = torch.full_like(mean, chosen.spread)
        if spread is not None:
            first_spread = _tensor(spread).expand_as(mean)
        with torch.inference_mode():
            *_, last = cross_entropy(
                mean,
                first_spread,
                chosen,
                draw=lambda mean, spread: self._draw(mean, spread, streams),
                cost=lambda candidates: self._cost(start, end, candidates),
            )
        # The elites' mean, not the best candidate, as swm's solver returns it.
        return last.mean.numpy()

    def _draw(
        self, mean: Tensor, spread: Tensor, streams: Sequence[torch.Generator]
    ) -> Tensor:
        """Return candidates ``[B, S, h, W]``; the first is the mean itself."""
        shape = (self.settings.num_samples, *mean.shape[1:])
        # One draw per environment: from a shared stream, a plan would depend on how
        # many others are planned beside it.
        noise = torch.stack([torch.randn(shape, generator=s) for s in streams])
        candidates = noise * spread[:, None] + mean[:, None]
        # As in swm's solver: the search never forgets the best it believes in.
        candidates[:, 0] = mean
        return candidates

    def _cost(self, start: Tensor, end: Tensor, candidates: Tensor) -> Tensor:
        """Return ``[B, S]`` squared gaps between the last latents and the targets."""
        number = candidates.shape[1]
        latents = start.repeat_interleave(number, dim=0)
        last = self.model.rollout(latents, candidates.flatten(0, 1))[:, -1]
        # On the CPU, where the random numbers are drawn, whatever the model's device.
        gaps = last.cpu().unflatten(0, (len(start), number)) - end[:, None]
        # No root: the order of candidates is the same without it.
        return gaps.square().sum(dim=-1)


def _tensor(latents: NDArray[Any]) -> Tensor:
    # A copy, for torch warns of arrays that must not be written to.
    return torch.from_numpy(np.array(latents, dtype=np.float32))
