"""The realisability residual: how far a latent is from any state that can exist.

r(z) = min over states s of ‖φ(render(s)) − z‖₂, by the cross-entropy method (CEM) over
the simulator's own parameters. A search bounds r(z) from above; where a larger one
finds no less, there is nothing nearer.

Paper: Eq. 3, Sec. 4. Decision: D24.
Letters: K candidates, S parameters of a state, R restarts, I iterations.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metro.envs.state_space import States, StateSpace
from metro.errors import BenchmarkError, LatentsError
from metro.kernels.neighbours.gaps import gaps_between
from metro.types import Vector

Encode = Callable[[States], NDArray[np.floating]]
"""From states ``[K, S]`` to latents ``[K, D]``: draws, then encodes."""

_ELITES = 0.15
"""Share of the candidates that the next distribution is fitted to."""

_MOMENTUM = 0.5
"""Share of the last move that the next candidates are stretched along."""

_STILL = 1e-3
"""Spread, as a share of the first, below which a restart has nothing left to find."""

_SHRINK = 0.5
"""What a spread is multiplied by after an iteration without any possible state."""


@dataclass(frozen=True)
class Budget:
    """How much is drawn, at most."""

    restarts: int
    iterations: int
    candidates: int = 384

    @property
    def num_renders(self) -> int:
        """Pictures, at most."""
        return self.restarts * self.iterations * self.candidates


BUDGETS = {"small": Budget(3, 20), "large": Budget(8, 30)}
"""The paper's two: 23,040 and 92,160 renders per latent."""


def find_budget(name: str) -> Budget:
    """Return the budget called ``name``."""
    if name not in BUDGETS:
        raise BenchmarkError(
            f"budget must be one of {', '.join(BUDGETS)}, got {name!r}."
        )
    return BUDGETS[name]


@dataclass(frozen=True, eq=False)
class Starts:
    """Where restarts begin.

    Attributes:
        states: ``[R, S]``, one per restart; more are not used.
        spread: ``[S]`` standard deviation of the first candidates around each.
    """

    states: States
    spread: States


@dataclass(frozen=True, eq=False)
class BestMatch:
    """The nearest state that a budget found."""

    residual: float
    state: States
    num_renders: int


@dataclass(frozen=True, eq=False)
class SearchHistory:
    """What a search found so far, after every iteration of every restart.

    Attributes:
        gaps: ``[R, I]`` smallest gap of a restart.
        states: ``[R, I, S]`` the state that has it.
        renders: ``[R, I]`` pictures that the restart has drawn.
    """

    gaps: NDArray[np.float64]
    states: States
    renders: NDArray[np.int64]

    def within(self, budget: Budget) -> BestMatch:
        """Return what a smaller budget found: its restarts are the first of these."""
        if budget.restarts > len(self.gaps) or budget.iterations > self.gaps.shape[1]:
            raise BenchmarkError(
                f"A search of {self.gaps.shape} restarts and iterations does not "
                f"say what {budget} finds."
            )
        last = budget.iterations - 1
        best = int(np.argmin(self.gaps[: budget.restarts, last]))
        return BestMatch(
            float(self.gaps[best, last]),
            self.states[best, last],
            int(self.renders[: budget.restarts, last].sum()),
        )

    def best_so_far(self, budget: Budget) -> list[float]:
        """Return the smallest gap after each of the iterations of a budget."""
        inside = self.gaps[: budget.restarts, : budget.iterations]
        return [float(gap) for gap in inside.min(axis=0)]


def search_states(
    target: Vector,
    space: StateSpace,
    encode: Encode,
    starts: Starts,
    *,
    budget: Budget,
    seed: Sequence[int] = (0,),
) -> SearchHistory:
    """Return the history of a search for the state whose picture encodes to ``target``.

    A restart has random numbers of its own and is independent of the others, so that
    the restarts of a smaller budget are the first of a larger one.

    Args:
        target: ``[D]`` the latent z.
        space: What may be drawn; ``encode`` never sees a state that cannot exist.
        encode: Draws and encodes states.
        starts: Where each restart begins, and how widely it looks first.
        budget: How much to draw.
        seed: Random seed; the number of the restart is added to it.
    """
    goal = np.asarray(target)
    if goal.ndim != 1 or not np.isfinite(goal).all():
        raise LatentsError(
            f"A latent is one row of finite numbers, got shape {goal.shape}."
        )
    shape = starts.states.shape
    if len(shape) != 2 or shape[0] < budget.restarts or shape[1] != space.size:
        raise BenchmarkError(
            f"{budget.restarts} restarts need as many starts [{space.size}], got an "
            f"array of shape {shape}."
        )
    histories = [
        _Restart(goal, space, encode, start, starts.spread).run(
            budget, np.random.default_rng([*seed, number])
        )
        for number, start in enumerate(starts.states[: budget.restarts])
    ]
    gaps, states, renders = zip(*histories, strict=True)
    return SearchHistory(np.array(gaps), np.array(states), np.array(renders))


class _Restart:
    """One CEM with a full covariance, from one start."""

    def __init__(
        self,
        goal: Vector,
        space: StateSpace,
        encode: Encode,
        start: States,
        spread: States,
    ) -> None:
        self._goal, self._space, self._encode = goal, space, encode
        # Double precision: variances shrink a million times before a restart is still.
        self._mean = np.asarray(start, np.float64)
        self._first = np.asarray(spread, np.float64)
        self._covariance = np.diag(np.square(self._first))
        self._best, self._state = np.inf, self._mean
        self._renders = 0

    def run(
        self, budget: Budget, rng: np.random.Generator
    ) -> tuple[list[float], list[States], list[int]]:
        """Return gap, state and pictures so far, after every iteration."""
        history: tuple[list[float], list[States], list[int]] = ([], [], [])
        for _ in range(budget.iterations):
            # A still restart fills its columns too: the history is a full table.
            if not self._is_still():
                self._iterate(budget.candidates, rng)
            history[0].append(self._best)
            history[1].append(self._state)
            history[2].append(self._renders)
        return history

    def _is_still(self) -> bool:
        deviations = np.sqrt(np.diag(self._covariance))
        return bool((deviations < _STILL * self._first).all())

    def _iterate(self, candidates: int, rng: np.random.Generator) -> None:
        steps = rng.standard_normal((candidates, self._space.size)) @ self._root().T
        steps[0] = 0  # the mean itself is a candidate too
        states, possible = self._space.admit(self._mean + steps)
        states = states[possible]
        self._renders += len(states)
        # Nothing that can exist was drawn: look nearer to the mean.
        if len(states) == 0:
            self._covariance *= _SHRINK**2
            return
        gaps = self._gaps(states)
        # Of all candidates, not of the possible: near a wall too few would be left.
        num_elites = max(2, int(_ELITES * candidates))
        # Stable: equal gaps keep the order of drawing on every machine.
        order = np.argsort(gaps, kind="stable")[:num_elites]
        if gaps[order[0]] < self._best:
            self._best, self._state = float(gaps[order[0]]), states[order[0]]
        self._fit(states[order])

    def _gaps(self, states: States) -> NDArray[np.float64]:
        latents = np.asarray(self._encode(states))
        if latents.shape != (len(states), len(self._goal)):
            raise LatentsError(
                f"The latent has {len(self._goal)} dimensions, pictures of states "
                f"have {latents.shape[1:]}. It is of another model."
            )
        return gaps_between(latents, self._goal)

    def _fit(self, elites: States) -> None:
        """Move to the elites; keep some of the way there in the covariance."""
        # Not a plain difference: angles wrap around.
        steps = self._space.between(self._mean, elites)
        shift = steps.mean(axis=0)
        apart = (steps - shift).T @ (steps - shift) / len(steps)
        # Without the way just gone, the spread would shrink before the target is near.
        self._covariance = apart + _MOMENTUM * np.outer(shift, shift)
        moved, possible = self._space.admit((self._mean + shift)[None])
        # The mean of possible states may be impossible, as in a wall; the best is not.
        self._mean = moved[0] if possible[0] else self._state

    def _root(self) -> States:
        """Return a square root of the covariance."""
        # Not Cholesky's: with few elites the covariance lacks full rank.
        values, vectors = np.linalg.eigh(self._covariance)
        # Rounding can make an eigenvalue of zero slightly negative.
        return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))
