"""Algorithm 1 as a policy: for stable-worldmodel's World, or for a loop of your own."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.benchmark import benchmark_names, load_benchmark
from metro.core.graph import FrameGraph
from metro.core.planner import MetroPlanner, SubGoal
from metro.core.search import find_routes
from metro.errors import BenchmarkError
from metro.models.action_stats import ActionStats, require_stats
from metro.models.adapter import (
    PlannableModel,
    as_world_model,
    known_digest,
    require_frozen,
)
from metro.models.frozen import FrozenModel
from metro.planners.cem import CEMSettings
from metro.planners.closed_loop import MicroPlanner, Seconds
from metro.planners.micro import CEMPlanner
from metro.planners.selectors import MetroSelector
from metro.planners.swm_solvers import LatentCost, SolverPlanner
from metro.storage.made_from import Provenance
from metro.types import Vector, WorldModel

Goal = Any
"""An image ``[S, S, 3]`` uint8, a latent ``[D]``, the number of a recorded frame, or a
list or tuple of these, any of which will do."""


def usual_settings(model: FrozenModel | PlannableModel) -> CEMSettings:
    """Return the published CEM for a model's benchmark, h = 1; 10 iterations elsewhere.

    Paper: Appendix, "Detailed experimental setup": 30 on PushT, 10 on the others.
    """
    if model.benchmark in benchmark_names():
        iterations = load_benchmark(model.benchmark).cem_iterations
        return CEMSettings(plan_blocks=1, iterations=iterations)
    return CEMSettings(plan_blocks=1, iterations=10)


class MetroPolicy:
    """Heads for recorded frames on the cheapest route to the goal, replanning often.

    In stable-worldmodel: ``world.set_policy(policy)``; the goals are those of the world
    (``infos["goal"]``). On a robot: ``action = policy.act(frame, goal)``, one a step.

    Paper: Alg. 1, Sec. 5.4.

    Args:
        graph: Made with the same model.
        model: Any world model (`metro.types.WorldModel`).
        settings: Of the CEM; its ``plan_blocks`` is h. None: `usual_settings`.
        seed: Of its random numbers; every environment has its own stream.
        held_out: For every environment the episode to leave out, or None.
        make_solver: A solver of swm instead of our CEM; see `SolverPlanner`.
        action_stats: How the model's actions are normalised. None: as the model says.
    """

    def __init__(  # noqa: PLR0913
        self,
        graph: FrameGraph,
        model: WorldModel,
        *,
        settings: CEMSettings | None = None,
        seed: int = 7,
        held_out: Sequence[int | None] | None = None,
        make_solver: Callable[[LatentCost], Any] | None = None,
        action_stats: ActionStats | None = None,
    ) -> None:
        if seed < 0:
            raise BenchmarkError(f"seed must be 0 or more, got {seed}.")
        model = as_world_model(model)
        made = Provenance.of(graph.latents)
        if made.model.digest is not None:
            made.require(model=known_digest(model))
        self.graph, self.model = graph, model
        self.action_stats = require_stats(model, action_stats)
        self.settings = settings or usual_settings(model)
        self.seconds = Seconds()
        """Planning time so far, by phase."""
        self._seed, self._held_out, self._make_solver = seed, held_out, make_solver
        self._actor: MicroPlanner | None = None
        self._riders: list[_Rider | None] = []

    def set_env(self, env: Any) -> None:
        """Get ready for the environments of a World; called by its ``set_policy``."""
        self.env = env
        self.reset(getattr(env, "num_envs", 1))

    def set_seed(self, seed: int) -> None:
        """Start the random numbers anew."""
        self._seed = seed
        self.reset(len(self._riders) or 1)

    def reset(self, num_envs: int = 1) -> None:
        """Forget goals, routes and plans; start the random numbers anew."""
        if self._held_out is not None and len(self._held_out) != num_envs:
            raise BenchmarkError(
                f"held_out must name an episode or None for each environment: got "
                f"{len(self._held_out)} for {num_envs} environments."
            )
        self._riders = [None] * num_envs
        self._actor = self._make_actor(num_envs)

    def _make_actor(self, num_envs: int) -> MicroPlanner:
        if self._make_solver is None:
            parts = [np.random.SeedSequence([self._seed, n]) for n in range(num_envs)]
            seeds = [int(part.generate_state(1)[0]) for part in parts]
            return CEMPlanner(
                self.model, self.settings, seeds, action_stats=self.action_stats
            )
        return SolverPlanner(
            require_frozen(self.model, "A solver of stable-worldmodel"),
            self._make_solver,
            plan_blocks=self.settings.plan_blocks,
            num_envs=num_envs,
            action_stats=self.action_stats,
        )

    def act(self, frame: NDArray[np.uint8], goal: Goal) -> NDArray[np.float32]:
        """Return the next action ``[A]`` of one robot; call it once a step.

        A new goal may be given at any time.

        Args:
            frame: ``[S, S, 3]`` what the camera shows.
            goal: What to reach.
        """
        if len(self._riders) != 1:
            self.reset(1)
        return self._act(np.asarray(frame)[None], [goal], [0])[0]

    def get_action(self, infos: dict[str, Any], **_: Any) -> NDArray[np.float32]:
        """Return actions ``[environments, A]`` for the infos of a World.

        Environments that are over get NaN: the World does not step them.
        """
        frames, goals = (np.asarray(infos[key])[:, -1] for key in ("pixels", "goal"))
        fresh = infos.get("_needs_flush")
        for number in np.flatnonzero(fresh) if fresh is not None else ():
            self._riders[number] = None
        over = np.asarray(infos.get("terminated", np.zeros(len(frames)))).reshape(-1)
        live = [number for number in range(len(frames)) if not over[number]]
        actions = np.full((len(frames), self.model.action_size), np.nan, np.float32)
        if live:
            actions[live] = self._act(frames[live], [goals[n] for n in live], live)
        return actions

    @property
    def sub_goals(self) -> list[SubGoal | None]:
        """The present sub-goal of every environment, and why it was chosen."""
        return [None if rider is None else rider.sub_goal for rider in self._riders]

    def _act(
        self, frames: NDArray[np.uint8], goals: list[Goal], numbers: list[int]
    ) -> NDArray[np.float32]:
        riders = [self._rider(*pair) for pair in zip(numbers, goals, strict=True)]
        idle = [row for row, rider in enumerate(riders) if not rider.plan]
        if idle:
            self._plan(frames[idle], [riders[row] for row in idle], numbers, idle)
        return np.stack([rider.plan.popleft() for rider in riders])

    def _plan(
        self,
        frames: NDArray[np.uint8],
        riders: list["_Rider"],
        numbers: list[int],
        idle: list[int],
    ) -> None:
        actor, seconds = self._actor, self.seconds
        if actor is None:
            raise BenchmarkError("Call set_env or reset first.")
        with seconds.of("encode"):
            observed = actor.encode(frames)
        with seconds.of("entry"):
            pairs = zip(riders, observed, strict=True)
            targets = np.stack([rider.guide(latent, 0)[0] for rider, latent in pairs])
        with seconds.of("plan"):
            plans = actor.plan(observed, targets, [numbers[row] for row in idle])
        for rider, actions in zip(riders, plans, strict=True):
            rider.plan.extend(actions)

    def _rider(self, number: int, goal: Goal) -> "_Rider":
        """Return who rides environment ``number``; a new one for a new goal."""
        rider = self._riders[number]
        if rider is None or not _same(rider.goal, goal):
            latents = self._latents_of(goal)
            held_out = None if self._held_out is None else self._held_out[number]
            with self.seconds.of("search"):
                routes = find_routes(self.graph, latents, held_out=held_out)
            rider = _Rider(goal, MetroPlanner(routes))
            self._riders[number] = rider
        return rider

    def _latents_of(self, goal: Goal) -> list[Vector]:
        if isinstance(goal, list | tuple):
            return [latent for one in goal for latent in self._latents_of(one)]
        if isinstance(goal, int | np.integer):
            frame = self.graph.latents.require_frame("goal", int(goal))
            return [self.graph.latents.z[frame]]
        given = np.asarray(goal)
        if given.ndim == 1:
            return [given]
        return [self.model.encode(given[None])[0]]


class _Rider:
    """What one environment is doing: its goal, its guide, the actions left to do."""

    def __init__(self, goal: Goal, planner: MetroPlanner) -> None:
        self.goal = goal
        self.guide = MetroSelector(planner)
        self.plan: deque[NDArray[np.float32]] = deque()

    @property
    def sub_goal(self) -> SubGoal | None:
        return self.guide.sub_goals[-1] if self.guide.sub_goals else None


def _same(one: Goal, other: Goal) -> bool:
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_same(*pair) for pair in pairs)
    return np.array_equal(one, other)
