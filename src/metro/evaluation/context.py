"""What queries are planned with: an environment, a corpus, a model, perhaps a graph."""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from metro.benchmark import Benchmark, load_benchmark
from metro.core.graph import FrameGraph
from metro.core.latents import Latents
from metro.core.planner import MetroPlanner
from metro.core.pricing import check_fit
from metro.core.reach import ReachPricing
from metro.core.search import Routes
from metro.data.corpus import Corpus, open_corpus
from metro.data.provenance import require_fitting
from metro.data.reach_graph import fit_corpus_reach
from metro.envs import open_env
from metro.errors import BenchmarkError
from metro.evaluation.env_pool import EnvPool
from metro.evaluation.queries import Query, QuerySet
from metro.evaluation.records import Setting
from metro.evaluation.route_cache import QueryRoutes
from metro.models.action_stats import ActionStats, raw_actions, stats_for
from metro.models.adapter import PlannableModel, known_digest
from metro.models.allocator import keep_freed_memory
from metro.models.devices import choose_device
from metro.models.frozen import FrozenModel
from metro.models.learned_reach import LearnedReach
from metro.models.loading import load_model
from metro.models.macro.macro_weights import load_macro
from metro.models.macro.model import MacroModel
from metro.models.reach_measure import ModelReach, attach_reach
from metro.planners.lazy_reach import LazyReach
from metro.planners.methods.method import Plan
from metro.planners.methods.metro import (
    BY_HEAD,
    MEMORY,
    REACH,
    is_priced_by_reach,
    option_has,
)
from metro.planners.methods.registry import find_method
from metro.planners.proposals import RecordedActions
from metro.storage.artefacts import load_graph
from metro.storage.made_from import Provenance
from metro.types import Env, Vector

T = TypeVar("T")

_NEEDS_REACH = (
    "Reach as it is needed takes a graph of the whole corpus, and no memory. Give a "
    "graph that was built with reach: metro build LATENTS --pricing reach "
    "--model MODEL --corpus CORPUS."
)


@dataclass(frozen=True)
class EvalConfig:
    """Where the parts are: enough to open them in another process."""

    benchmark: str
    corpus: str
    model: str
    graph: Path | None = None
    macro: str | None = None
    trust_pickle: bool = False
    device: str | None = None

    def open(self) -> "EvalContext":
        """Open all of them, the model on its device; close it after use."""
        # Planning allocates the same arrays again and again: the allocator keeps them.
        keep_freed_memory()
        chosen = load_benchmark(self.benchmark)
        model = load_model(self.model, trust_pickle=self.trust_pickle)
        model.to(choose_device(self.device))
        graph = None if self.graph is None else load_graph(self.graph)
        macro = None if self.macro is None else load_macro(self.macro).to(model.device)
        return EvalContext(chosen, open_corpus(self.corpus), model, graph, macro)

    def with_graph(self, graph: Path) -> Self:
        """Return the same parts with a graph."""
        return replace(self, graph=graph)


@dataclass
class EvalContext:
    """The open parts, and what queries share. Implements `PlanContext` for methods.

    Attributes:
        benchmark: Which environment.
        corpus: The recording that queries are from.
        model: The world model.
        graph: For methods with a graph; its neighbour table serves every H.
        macro: The macro model, for hierarchical methods.
        encoder_digest: Digest of the model whose latents the graph has, if that is
            another one with the same encoder; None: ``model``.
        corpus_latents: Latents of all episodes, where starts and goals are looked up;
            None: the graph's.
        graph_episodes: Sorted episodes of the corpus that the graph has, if it has
            some only; None: all of them, by the same numbers.
        extra_metadata: What rows of this context say beside the usual.
        action_stats: How the model's actions are normalised: as its file says, else by
            the statistics of the corpus.
        envs: Environments that draw what the model was trained on.
    """

    benchmark: Benchmark
    corpus: Corpus
    model: FrozenModel | PlannableModel
    graph: FrameGraph | None = None
    macro: MacroModel | None = None
    encoder_digest: str | None = None
    corpus_latents: Latents | None = None
    graph_episodes: NDArray[np.int64] | None = None
    extra_metadata: Mapping[str, Any] = field(default_factory=dict)
    action_stats: ActionStats = field(init=False, repr=False)
    envs: EnvPool = field(init=False, repr=False)
    _graphs: QueryRoutes | None = field(default=None, init=False, repr=False)
    _made: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        self.action_stats = stats_for(self.model, self.corpus)
        self.envs = EnvPool(self._open_env)
        if self.graph is not None:
            graph = attach_reach(self.graph, self.model)
            self._graphs = QueryRoutes(graph, self._by_reach)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the recording and all environments."""
        self.corpus.close()
        self.envs.close()

    def plan_of(self, setting: Setting) -> Plan:
        """Return a setting as the functions of its method take it."""
        return Plan(
            self,
            setting.plan_blocks,
            setting.waypoint_budget,
            setting.macro_steps,
            setting.option,
        )

    def check(self, setting: Setting, queries: QuerySet | None = None) -> None:
        """Raise a `MetroError` unless the parts belong together."""
        method = find_method(setting.method)
        self.corpus.require(self.benchmark)
        if queries is not None:
            queries.require_corpus(self.corpus.digest)
        if method.needs_model:
            require_fitting(self.corpus, self.model, self.benchmark.name)
        if method.needs_graph:
            self._check_graph(setting)
        distances = sorted({query.goal_distance for query in queries or ()})
        method.check(self.plan_of(setting), distances)

    def _check_graph(self, setting: Setting) -> None:
        if self.graph is None:
            raise BenchmarkError(
                f"method {setting.method} needs a graph: metro build LATENTS."
            )
        # A graph of another corpus could not hold out the episodes of the queries.
        Provenance.of(self.graph.latents).require(
            model=self.encoder_digest or known_digest(self.model),
            corpus=self.corpus.digest,
        )
        check_fit(self.graph.latents, setting.waypoint_budget)
        is_learned = isinstance(self.graph.measure, LearnedReach)
        if setting.option in BY_HEAD and not is_learned:
            raise BenchmarkError(
                f"option {setting.option} needs a trained reach head: "
                f"metro study learned-reach BENCHMARK."
            )
        if option_has(setting.option, REACH) and self.graph.reach is None:
            if option_has(setting.option, MEMORY):
                raise BenchmarkError(_NEEDS_REACH)
            self._constants()

    def _by_reach(self, graph: FrameGraph) -> LazyReach:
        """Return a graph priced by gap, priced by reach as routes need it."""
        reach = self._constants()
        return LazyReach(graph, reach, ModelReach(self.model, reach.noise))

    def _constants(self) -> ReachPricing:
        """Return what jumps are charged on a graph that does not say it."""
        if self.graph is None or self.graph_episodes is not None:
            raise BenchmarkError(_NEEDS_REACH)
        latents, quantile = self.graph.latents, self.graph.pricing.quantile
        return self.once(
            "reach",
            lambda: fit_corpus_reach(
                latents, self.corpus, self.model, quantile=quantile
            ),
        )

    @property
    def graphs(self) -> QueryRoutes:
        """The graph for every H, and the routes of the present one."""
        if self._graphs is None:
            raise BenchmarkError("There is no graph: metro build LATENTS.")
        return self._graphs

    def graph_for(self, waypoint_budget: int) -> FrameGraph:
        """Return the graph priced for H; the last one is kept."""
        return self.graphs.priced(waypoint_budget)

    def routes_for(
        self, waypoint_budget: int, query: Query, option: str | None = None
    ) -> tuple[Routes, float]:
        """Return the routes to a query's goal and the seconds that finding them took.

        Kept for the present H and pricing until they are forgotten.
        """
        ends, held_out = self.ends_of(query), self.held_out(query)
        by_reach = is_priced_by_reach(option)
        return self.graphs.routes(
            waypoint_budget, query, ends, held_out, by_reach=by_reach
        )

    def planner_for(
        self, waypoint_budget: int, query: Query, option: str | None = None
    ) -> MetroPlanner:
        """Return the graph planner of a query's goal, its own episode held out."""
        return MetroPlanner(self.routes_for(waypoint_budget, query, option)[0])

    def recorded_actions(self) -> RecordedActions:
        """Return the recorded actions of the corpus, by the graph's frames."""
        return self.once("recorded actions", self._recorded_actions)

    def _recorded_actions(self) -> RecordedActions:
        # A graph of some episodes numbers its frames otherwise than the corpus.
        if self.graph is None or self.graph_episodes is not None:
            raise BenchmarkError("Recorded actions need a graph of the whole corpus.")
        return RecordedActions(self.graph.latents, raw_actions(self.corpus))

    def recorded_spread(self) -> NDArray[np.float32]:
        """Return ``[A]`` the first spread around recorded actions, normalised."""
        table, recorded = self.graphs.graph.table, self.recorded_actions()
        return self.once(
            "recorded spread", lambda: recorded.spread(table, self.action_stats)
        )

    def forget_routes(self) -> None:
        """Let go of all routes."""
        if self._graphs is not None:
            self._graphs.forget_routes()

    def ends_of(self, query: Query) -> tuple[Vector, Vector]:
        """Return the latents ``[D]`` of a query's start and goal, as the graph's."""
        latents = self.corpus_latents
        if latents is None:
            if self.graph is None:
                raise BenchmarkError("There is no graph: metro build LATENTS.")
            latents = self.graph.latents
        first, last = (
            latents.z[self.frame_of(query.episode, step)]
            for step in (query.start, query.goal)
        )
        return first, last

    def held_out(self, query: Query) -> int | None:
        """Return the query's episode by the graph's number; None: it is not there."""
        if self.graph_episodes is None:
            return query.episode
        places = np.flatnonzero(self.graph_episodes == query.episode)
        return int(places[0]) if len(places) else None

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return what ``make`` returned when ``key`` was first given."""
        # Methods keep what they make here, so that contexts need not know methods.
        if key not in self._made:
            self._made[key] = make()
        made: T = self._made[key]
        return made

    def frame_of(self, episode: int, step: int) -> int:
        """Return the row of the corpus, and frame of the graph, of a step."""
        return int(self.corpus.offsets[episode]) + step

    def goal_latent(self, query: Query) -> NDArray[np.float32]:
        """Return the latent ``[D]`` of a query's goal frame."""
        # Encoded, not looked up: methods without a graph have no latents to look in.
        goal = self.corpus.frames(query.episode)[query.goal]
        latent: NDArray[np.float32] = self.model.encode(goal[None])[0]
        return latent

    def own_latents(self, query: Query) -> NDArray[np.float32]:
        """Return the latents of the recording from start to goal, ``[d + 1, D]``."""
        frames = self.corpus.frames(query.episode)[query.start : query.goal + 1]
        latents: NDArray[np.float32] = self.model.encode(frames)
        return latents

    def own_actions(self, query: Query) -> NDArray[np.float32]:
        """Return the recorded actions from start to goal, ``[d, A]``; NaN is 0."""
        actions = self.once("actions", self._actions)
        first, last = (
            self.frame_of(query.episode, step) for step in (query.start, query.goal)
        )
        own: NDArray[np.float32] = actions[first:last]
        return own

    def _actions(self) -> NDArray[np.float32]:
        # The last frame of an episode has no action, and simulators choke on NaN.
        return np.nan_to_num(self.corpus.column("action").astype(np.float32))

    def _open_env(self) -> Env:
        """Return an environment that draws what the model was trained on."""
        return open_env(
            self.benchmark,
            image_size=self.model.image_size or self.corpus.image_size,
            rendering=self.model.rendering or self.corpus.rendering or "stock",
        )
