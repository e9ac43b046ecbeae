"""Algorithm 1 as a policy: for stable-worldmodel's World, or for a loop of your own."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from metro.core.graph import FrameGraph
from metro.core.landmarks import Landmarks, choose_landmarks
from metro.core.planner import MetroPlanner, SubGoal
from metro.core.search import Routes, find_routes
from metro.errors import BenchmarkError
from metro.kernels.neighbours.gaps import squared_gaps
from metro.models.adapter import known_digest
from metro.models.reach_measure import attach_reach
from metro.planners.lazy_reach import LazyReach
from metro.planners.methods.flat import GoalSelector
from metro.planners.methods.metro import MetroSelector, select_sub_goals
from metro.planners.policy_base import Named, Policy
from metro.planners.proposals import RECORDED_SEARCH, RecordedActions
from metro.storage.artefacts import load_graph
from metro.storage.made_from import Provenance
from metro.types import Vector, WorldModel


class MetroPolicy(Policy):
    """Heads for recorded frames on the cheapest route to the goal, replanning often.

    The whole story::

        model = metro.load_model("lewm-small-tworoom")
        corpus = metro.open_corpus("tworoom.h5")
        graph = metro.FrameGraph.from_corpus(corpus, model, waypoint_budget=8)
        policy = metro.MetroPolicy(graph, model)
        action = policy.act(frame, goal)

    The first observation starts one search for routes to the goal; every second micro
    plan enters the graph again, wherever the environment is by then, and heads for the
    next sub-goal. In stable-worldmodel: ``world.set_policy(policy)``; the goals are
    those of the world (``infos["goal"]``).

    Paper: Alg. 1, Sec. 5.4.

    Args:
        graph: The graph, or its file; made with the same model. Its bridges are priced
            as it was built, ``pricing="gap"`` or ``"reach"``. A `LazyReach` prices a
            graph by reach as it is, without building it again.
        model: As for every `Policy`, which also explains the other options.
        held_out: For every environment the episode to leave out, or None.
        recorded: ``[N, A]`` raw actions of the graph's frames, as
            ``corpus.column("action")`` has them.
        proposals: Where micro plans start: ``"gaussian"``, from nothing, as the paper;
            or ``"recorded"``, from the actions along the route, also with a solver of
            swm. None: from ``recorded`` if it is given. Decision: D38.
        memory: Whether jumps that were tried in vain cost more until the goal changes,
            so that a stuck robot goes another way. Decision: D39.
        trust_graph: Accept a graph that does not say which model it was made with.
    """

    def __init__(  # noqa: PLR0913
        self,
        graph: FrameGraph | LazyReach | Named,
        model: WorldModel | Named,
        *,
        held_out: Sequence[int | None] | None = None,
        recorded: NDArray[Any] | None = None,
        proposals: Literal["gaussian", "recorded"] | None = None,
        memory: bool = False,
        trust_graph: bool = False,
        **options: Any,
    ) -> None:
        recorded = _chosen_actions(proposals, recorded)
        if recorded is not None:
            options.setdefault("settings", RECORDED_SEARCH)
        super().__init__(model, **options)
        found = load_graph(graph) if isinstance(graph, str | Path) else graph
        self._lazy = found if isinstance(found, LazyReach) else None
        if self._lazy is not None and memory:
            raise BenchmarkError(
                "Memory raises the costs of jumps, which a LazyReach cannot: give a "
                'graph that was built with pricing="reach".'
            )
        priced = found.graph if isinstance(found, LazyReach) else found
        self.graph = attach_reach(priced, self.model)
        self._recorded = self._take_actions(recorded)
        made = Provenance.of(self.graph.latents)
        if made.model.digest is not None:
            made.require(model=known_digest(self.model))
        elif not trust_graph:
            raise BenchmarkError(
                "The graph does not say which model its latents are from, and those of "
                "another model would lead nowhere. If they are this model's, say so: "
                "MetroPolicy(graph, model, trust_graph=True)."
            )
        self._held_out, self._memory = held_out, memory

    def reset(self, num_envs: int = 1) -> None:
        """Forget goals, routes and plans; start the random numbers again."""
        if self._held_out is not None and len(self._held_out) != num_envs:
            raise BenchmarkError(
                f"held_out must name an episode or None for each environment: got "
                f"{len(self._held_out)} for {num_envs} environments."
            )
        super().reset(num_envs)

    @property
    def sub_goals(self) -> list[SubGoal | None]:
        """The present sub-goal of every environment, and why it was chosen."""
        found: list[SubGoal | None] = [None] * self._num_envs
        for number, episode in self._loop.episodes.items():
            if isinstance(episode.selector, MetroSelector):
                found[number] = episode.selector.sub_goals[-1]
        return found

    # Chosen on the first search: a policy that is never asked costs nothing.
    @cached_property
    def _landmarks(self) -> Landmarks:
        return choose_landmarks(self.graph)

    def _make_selector(
        self, number: int, goals: list[Vector], observed: Vector
    ) -> MetroSelector:
        held_out = None if self._held_out is None else self._held_out[number]
        if self._lazy is not None:
            routes: Routes = self._lazy.find_routes(
                goals, held_out=held_out, start=observed
            )
        else:
            routes = find_routes(
                self.graph,
                goals,
                held_out=held_out,
                start=observed,
                landmarks=self._landmarks,
            )
        return select_sub_goals(
            MetroPlanner(routes),
            self.settings.plan_blocks * self.model.action_block,
            recorded=self._recorded,
            memory=self._memory,
        )

    def _take_actions(self, recorded: NDArray[Any] | None) -> RecordedActions | None:
        if recorded is None:
            return None
        shape = (self.graph.num_frames, self.model.action_size)
        if recorded.shape != shape:
            raise BenchmarkError(
                f"recorded must have shape {list(shape)}, one action per frame of the "
                f"graph, got {list(recorded.shape)}."
            )
        actions = RecordedActions(self.graph.latents, recorded)
        self._spread = actions.spread(self.graph.table, self.action_stats)
        return actions

    def _recorded_latent(self, frame: int) -> Vector:
        latents = self.graph.latents
        latent: Vector = latents.z[latents.require_frame("goal", frame)]
        return latent


def _chosen_actions(
    proposals: str | None, recorded: NDArray[Any] | None
) -> NDArray[Any] | None:
    """Return the actions that micro plans start from; None: they start from nothing."""
    if proposals not in (None, "gaussian", "recorded"):
        raise BenchmarkError(
            f'proposals must be "gaussian" or "recorded", got {proposals!r}.'
        )
    if proposals == "recorded" and recorded is None:
        raise BenchmarkError(
            'proposals="recorded" needs the actions of the graph\'s frames: '
            'recorded=corpus.column("action").'
        )
    return None if proposals == "gaussian" else recorded


class FlatPolicy(Policy):
    """Plans straight to the goal with the micro planner, without a graph.

    Of several goals it heads for the one whose latent is nearest at the start; a
    recorded frame's number needs a graph and is refused.

    Paper: Eq. 1.
    """

    def _make_selector(
        self, number: int, goals: list[Vector], observed: Vector
    ) -> GoalSelector:
        nearest = int(np.argmin(squared_gaps(np.stack(goals), observed)))
        return GoalSelector(goals[nearest])
