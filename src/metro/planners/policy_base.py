"""What all policies share: goals in many forms, and the closed loop around a model."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.benchmark import benchmark_names, load_benchmark
from metro.errors import BenchmarkError
from metro.models.action_stats import ActionStats, require_stats
from metro.models.adapter import (
    PlannableModel,
    as_world_model,
    require_frozen,
)
from metro.models.frozen import FrozenModel
from metro.models.loading import load_model
from metro.planners.cem import CEMSettings
from metro.planners.closed_loop import (
    ClosedLoop,
    MicroPlanner,
    Seconds,
    SubgoalSelector,
)
from metro.planners.micro import CEMPlanner
from metro.planners.swm_solvers import LatentCost, SolverPlanner
from metro.types import Vector, WorldModel

Goal = Any
"""An image ``[S, S, 3]`` uint8, a latent ``[D]``, the number of a recorded frame, or a
list or tuple of these, any of which will do."""

Named = str | Path


def usual_settings(model: FrozenModel | PlannableModel) -> CEMSettings:
    """Return the published CEM for a model's benchmark, h = 1; 10 iterations elsewhere.

    Paper: Appendix, "Detailed experimental setup": 30 on PushT, 10 on the others.
    """
    if model.benchmark in benchmark_names():
        iterations = load_benchmark(model.benchmark).cem_iterations
        return CEMSettings(plan_blocks=1, iterations=iterations)
    return CEMSettings(plan_blocks=1, iterations=10)


class Policy(ABC):
    """Acts by the closed loop: in a World of stable-worldmodel, or frame by frame.

    Args:
        model: Any world model (`metro.types.WorldModel`), a file of one, or the name of
            a shipped one.
        settings: How hard the CEM searches; its ``plan_blocks`` is h. None:
            `usual_settings`.
        seed: Random seed; every environment draws from its own stream of it.
        seeds: Random seed of every environment instead, as `metro evaluate` seeds its
            queries.
        make_solver: A solver of swm instead of our CEM; see `SolverPlanner`.
        action_stats: How the model's actions are normalised. None: as the model says.
    """

    def __init__(
        self,
        model: WorldModel | Named,
        *,
        settings: CEMSettings | None = None,
        seed: int = 7,
        seeds: Sequence[int] | None = None,
        make_solver: Callable[[LatentCost], Any] | None = None,
        action_stats: ActionStats | None = None,
    ) -> None:
        if seed < 0:
            raise BenchmarkError(f"seed must be 0 or more, got {seed}.")
        if isinstance(model, str | Path):
            model = load_model(str(model))
        self.model = as_world_model(model)
        self.action_stats = require_stats(self.model, action_stats)
        self.settings = settings or usual_settings(self.model)
        self.seconds = Seconds()
        """Planning time so far, by phase."""
        self._seed, self._seeds, self._make_solver = seed, seeds, make_solver
        self._spread: NDArray[np.float32] | None = None
        self._num_envs = 0
        self._goals: dict[int, Goal] = {}

    def set_env(self, env: Any) -> None:
        """Get ready for the environments of a World; called by its ``set_policy``."""
        self.env = env
        self.reset(getattr(env, "num_envs", 1))

    def set_seed(self, seed: int) -> None:
        """Start the random numbers again, from another seed."""
        self._seed = seed
        self.reset(self._num_envs or 1)

    def reset(self, num_envs: int = 1) -> None:
        """Forget goals, routes and plans; start the random numbers again."""
        if self._seeds is not None and len(self._seeds) != num_envs:
            raise BenchmarkError(
                f"seeds must have a seed for each environment: got "
                f"{len(self._seeds)} for {num_envs} environments."
            )
        self._num_envs, self._goals = num_envs, {}
        self._loop = ClosedLoop(self._make_planner(num_envs), self.seconds)

    def _make_planner(self, num_envs: int) -> MicroPlanner:
        if self._make_solver is None:
            # Seeds are mixed, not added: seeds 7 and 8 must not share streams.
            parts = [np.random.SeedSequence([self._seed, n]) for n in range(num_envs)]
            seeds = [int(part.generate_state(1)[0]) for part in parts]
            return CEMPlanner(
                self.model,
                self.settings,
                self._seeds or seeds,
                action_stats=self.action_stats,
                spread=self._spread,
            )
        return SolverPlanner(
            require_frozen(self.model, "A solver of stable-worldmodel"),
            self._make_solver,
            plan_blocks=self.settings.plan_blocks,
            num_envs=num_envs,
            action_stats=self.action_stats,
        )

    def act(self, frame: NDArray[np.uint8], goal: Goal) -> NDArray[np.float32]:
        """Return the next action ``[A]`` of one robot; call it once per step.

        A new goal may be given at any time.

        Args:
            frame: ``[S, S, 3]`` what the camera shows.
            goal: What to reach.
        """
        if self._num_envs != 1:
            self.reset(1)
        return self._act(np.asarray(frame)[None], [goal], [0])[0]

    def get_action(self, infos: dict[str, Any], **_: Any) -> NDArray[np.float32]:
        """Return actions ``[environments, A]`` for the infos of a World.

        Environments that are over get NaN: the World does not step them.
        """
        if self._num_envs == 0:
            raise BenchmarkError("Call set_env or reset first.")
        # A World gives a history of frames; the last one is the present.
        frames, goals = (np.asarray(infos[key])[:, -1] for key in ("pixels", "goal"))
        # swm resets an environment by itself and says so in the next infos only.
        fresh = infos.get("_needs_flush")
        for number in np.flatnonzero(fresh) if fresh is not None else ():
            self._goals.pop(int(number), None)
        over = np.asarray(infos.get("terminated", np.zeros(len(frames)))).reshape(-1)
        live = [number for number in range(len(frames)) if not over[number]]
        # NaN, not 0: acting on it by mistake would be noticed.
        actions = np.full((len(frames), self.model.action_size), np.nan, np.float32)
        if live:
            actions[live] = self._act(frames[live], [goals[n] for n in live], live)
        return actions

    def _act(
        self, frames: NDArray[np.uint8], goals: list[Goal], numbers: list[int]
    ) -> NDArray[np.float32]:
        loop = self._loop
        # The old plan leads to the old goal, so a new goal drops it at once.
        for number, goal in zip(numbers, goals, strict=True):
            if number not in self._goals or not _same(self._goals[number], goal):
                self._goals[number] = goal
                latents = self._latents_of(goal)
                loop.begin(number, partial(self._make_selector, number, latents))
        waiting = [row for row, number in enumerate(numbers) if loop.is_waiting(number)]
        if waiting:
            loop.observe(frames[waiting], [numbers[row] for row in waiting])
        return np.stack([loop.next_actions(number)[0] for number in numbers])

    @abstractmethod
    def _make_selector(
        self, number: int, goals: list[Vector], observed: Vector
    ) -> SubgoalSelector:
        """Return the selector of environment ``number`` from its first observation."""

    def _latents_of(self, goal: Goal) -> list[Vector]:
        if isinstance(goal, list | tuple):
            return [latent for one in goal for latent in self._latents_of(one)]
        if isinstance(goal, int | np.integer):
            return [self._recorded_latent(int(goal))]
        given = np.asarray(goal)
        if given.ndim == 1:
            return [given]
        return [self.model.encode(given[None])[0]]

    def _recorded_latent(self, frame: int) -> Vector:
        raise BenchmarkError(
            f"goal must be an image or a latent, got frame {frame}: this policy has no "
            f"graph with recorded frames."
        )


def _same(one: Goal, other: Goal) -> bool:
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        # Not strict: lists of different lengths are different goals, not an error.
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_same(*pair) for pair in pairs)
    return np.array_equal(one, other)
