"""What a planning method is: its name, what it needs, and how it plans a query.

Nothing here imports torch, so that reports can name methods without it; what plans is
imported when the first query is planned.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from metro.benchmark import Benchmark
from metro.core.planner import MetroPlanner
from metro.errors import BenchmarkError
from metro.planners.closed_loop import MicroPlanner, SubgoalSelector
from metro.types import Vector

T = TypeVar("T")


class QueryLike(Protocol):
    """A start and a goal in one recorded episode, as `Query` of the evaluation."""

    @property
    def episode(self) -> int:
        """The recorded episode."""
        ...

    @property
    def start(self) -> int:
        """Frame of the episode to start from."""
        ...

    @property
    def goal(self) -> int:
        """Frame of the episode to reach."""
        ...

    @property
    def goal_distance(self) -> int:
        """Frames between the two."""
        ...


class PlanContext(Protocol):
    """What a method may ask for: world model, corpus, graph, and values made once."""

    benchmark: Benchmark
    corpus: Any
    model: Any
    macro: Any
    action_stats: Any

    def planner_for(
        self, waypoint_budget: int, query: Any, option: str | None = None
    ) -> MetroPlanner:
        """Return the graph planner of a query's goal, its episode held out.

        The option says whether bridges are priced by gap or by reach.
        """
        ...

    def recorded_actions(self) -> Any:
        """Return the `RecordedActions` of the graph's corpus."""
        ...

    def recorded_spread(self) -> NDArray[np.float32]:
        """Return ``[A]`` the first spread around recorded actions, normalised."""
        ...

    def goal_latent(self, query: Any) -> Vector:
        """Return the latent ``[D]`` of a query's goal frame."""
        ...

    def own_latents(self, query: Any) -> NDArray[np.float32]:
        """Return latents ``[d + 1, D]`` of the recording from start to goal."""
        ...

    def own_actions(self, query: Any) -> NDArray[np.float32]:
        """Return the recorded actions ``[d, A]`` from start to goal."""
        ...

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what ``make`` returned when ``key`` was first given."""
        ...


@dataclass(frozen=True)
class Plan:
    """One setting of a method in one context: all that its functions are given.

    Attributes:
        context: World model, corpus and graph.
        plan_blocks: h, action blocks of a micro plan.
        waypoint_budget: H, frames; None without a graph.
        macro_steps: h_h of hierarchical methods; None for the others.
        option: One of the method's options; None: the authors' way.
    """

    context: PlanContext
    plan_blocks: int
    waypoint_budget: int | None = None
    macro_steps: int | None = None
    option: str | None = None

    @property
    def frames(self) -> int:
        """Environment steps of one micro plan."""
        return self.plan_blocks * self.context.benchmark.action_block


def plan_with_cem(
    plan: Plan, queries: Sequence[QueryLike], seeds: Sequence[int]
) -> MicroPlanner:
    """Return the CEM of the benchmark, with one random stream per query."""
    # Here and not above: reports name methods on machines without torch.
    from metro.planners.cem import CEMSettings
    from metro.planners.micro import CEMPlanner

    context = plan.context
    iterations = context.benchmark.cem_iterations
    settings = CEMSettings(plan.plan_blocks, iterations=iterations)
    return CEMPlanner(context.model, settings, seeds, action_stats=context.action_stats)


def accept(plan: Plan, goal_distances: Sequence[int]) -> None:
    """Check nothing: the method plans whatever it is given."""


@dataclass(frozen=True)
class Method:
    """A way to plan queries; a new one is one file with one of these.

    Attributes:
        name: How rows and the command line call it.
        label: How tables call it.
        order: Its place in tables.
        make_selector: Returns the sub-goal selector of one query; is given the plan,
            the query and its seed.
        make_micro_planner: Returns the micro planner of a batch of queries; is given
            the plan, the queries and a seed for each.
        check: Raises a `MetroError` if the plan cannot be run for these distances.
        aliases: Other names that are accepted.
        needs_graph: Whether it has a waypoint budget H.
        needs_model: Whether it needs a world model.
        needs_macro: Whether it needs a macro model on top of the world model.
        has_plans: Whether plan_blocks means anything to it.
        options: What can be chosen beyond the authors' way. Decision: D21.
        default_plan_blocks: h if none is chosen.
        fixed_plan_blocks: Whether h cannot be chosen.
        default_macro_steps: h_h if none is chosen; None: it has none.
        fixed_macro_steps: Whether h_h cannot be chosen.
    """

    name: str
    label: str
    order: int
    make_selector: Callable[[Plan, Any, int], SubgoalSelector]
    make_micro_planner: Callable[[Plan, Sequence[Any], Sequence[int]], MicroPlanner] = (
        plan_with_cem
    )
    check: Callable[[Plan, Sequence[int]], None] = accept
    aliases: tuple[str, ...] = ()
    needs_graph: bool = False
    needs_model: bool = True
    needs_macro: bool = False
    has_plans: bool = True
    options: tuple[str, ...] = ()
    default_plan_blocks: int = 1
    fixed_plan_blocks: bool = False
    default_macro_steps: int | None = None
    fixed_macro_steps: bool = False

    def choose_plan_blocks(self, chosen: int | None) -> int:
        """Return the h to plan with, the method's own if none was chosen."""
        own = self.default_plan_blocks
        if chosen is None:
            return own
        if self.fixed_plan_blocks and chosen != own:
            raise BenchmarkError(
                f"{self.name} plans {own} blocks, as its authors do: leave out "
                f"--plan-blocks, got {chosen}."
            )
        return chosen

    def choose_macro_steps(self, chosen: int | None) -> int | None:
        """Return the h_h to plan with, the method's own if none was chosen."""
        own = self.default_macro_steps
        if chosen is None:
            return own
        if self.fixed_macro_steps and chosen != own:
            raise BenchmarkError(
                f"{self.name} has {own} stages: leave out --macro-steps, got {chosen}."
            )
        return chosen
