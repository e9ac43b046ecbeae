"""What queries are asked of: a world, a recording, a model, perhaps a graph."""

import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from metro.benchmark import Benchmark, load_benchmark
from metro.core.graph import FrameGraph, build_graph
from metro.core.landmarks import Landmarks, choose_landmarks
from metro.core.planner import MetroPlanner
from metro.core.pricing import PricingCurve, check_fit
from metro.core.search import Routes, find_routes
from metro.data.corpus import Corpus, open_corpus
from metro.data.provenance import require_fitting
from metro.envs import open_env
from metro.errors import BenchmarkError
from metro.evaluation.queries import Query, QuerySet
from metro.evaluation.records import Setting
from metro.models.action_stats import ActionStats, stats_for
from metro.models.adapter import PlannableModel, known_digest, require_frozen
from metro.models.allocator import keep_freed_memory
from metro.models.devices import choose_device
from metro.models.frozen import FrozenModel
from metro.models.loading import load_model
from metro.models.macro.macro_model import MacroModel
from metro.models.macro.macro_weights import load_macro
from metro.planners.hierarchical.budgets import HierarchySettings, hierarchy_settings
from metro.planners.hierarchical.hierarchy import (
    Hierarchy,
    prepare_hierarchy,
    require_macro,
)
from metro.planners.method_names import (
    GRAPH_METHODS,
    HIERARCHICAL_METHODS,
    MODEL_METHODS,
)
from metro.storage.artefacts import load_graph
from metro.storage.made_from import Provenance
from metro.types import Env, Vector


def warm_up(graph: FrameGraph) -> Landmarks:
    """Return landmarks for many queries, and plan once as those do.

    Kernels are then compiled or loaded, and arrays are read.
    """
    first, landmarks = graph.latents.z[0], choose_landmarks(graph)
    question = {"held_out": 0, "start": first, "landmarks": landmarks}
    MetroPlanner(find_routes(graph, graph.latents.z[-1], **question))(first)
    return landmarks


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
        """Open all of them, the model on its device; close it after use.

        Planning allocates the same arrays again and again: they are kept from now on.
        """
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
    """The parts, and what queries share: graphs by H, routes by H and query.

    Attributes:
        benchmark: Which world.
        corpus: Where queries are from.
        model: The frozen world model.
        graph: For metro; its neighbour table serves every H.
        macro: For the hierarchical methods.
        encoder_digest: Of the model whose latents the graph has, if that is another
            one with the same encoder; None: of ``model``.
    """

    benchmark: Benchmark
    corpus: Corpus
    model: FrozenModel | PlannableModel
    graph: FrameGraph | None = None
    macro: MacroModel | None = None
    encoder_digest: str | None = None
    _priced: FrameGraph | None = field(default=None, init=False, repr=False)
    _landmarks: Landmarks | None = field(default=None, init=False, repr=False)
    _routes: dict[Query, tuple[Routes, float]] = field(
        default_factory=dict, init=False, repr=False
    )
    _worlds: list[Env] = field(default_factory=list, init=False, repr=False)
    _hierarchies: dict[Any, Hierarchy] = field(
        default_factory=dict, init=False, repr=False
    )

    def __post_init__(self) -> None:
        self.action_stats: ActionStats = stats_for(self.model, self.corpus)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the recording and all worlds."""
        self.corpus.close()
        self.discard(*self._worlds)

    def check(self, setting: Setting, queries: QuerySet | None = None) -> None:
        """Raise a `MetroError` unless the parts belong together."""
        self.corpus.require(self.benchmark)
        if queries is not None:
            queries.require_corpus(self.corpus.digest)
        if setting.method in MODEL_METHODS:
            require_fitting(self.corpus, self.model)
        if setting.method in GRAPH_METHODS:
            self._check_graph(setting)
        if setting.method in HIERARCHICAL_METHODS:
            model = require_frozen(self.model, setting.method)
            require_macro(setting.method, self.macro, model)
            for distance in {query.goal_distance for query in queries or ()}:
                _settings_of(setting, distance)

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

    def graph_for(self, waypoint_budget: int) -> FrameGraph:
        """Return the graph priced for H; the last one is kept."""
        if self.graph is None:
            raise BenchmarkError("There is no graph: metro build LATENTS.")
        if self._priced is None or self._priced.waypoint_budget != waypoint_budget:
            self._routes.clear()
            self._priced = self.graph
            if self.graph.waypoint_budget != waypoint_budget:
                latents, table = self.graph.latents, self.graph.table
                pricing = PricingCurve.fit(
                    latents, waypoint_budget, quantile=self.graph.pricing.quantile
                )
                self._priced = build_graph(latents, table, pricing)
            # Kernels are loaded and arrays read now, not on the first query's time.
            self._landmarks = warm_up(self._priced)
        return self._priced

    def routes_for(self, waypoint_budget: int, query: Query) -> tuple[Routes, float]:
        """Return the routes to a query's goal and the seconds that finding them took.

        Kept for the present H until they are forgotten. The search stops once it is
        certain where to start; planners go on where they must.
        """
        graph = self.graph_for(waypoint_budget)
        if query not in self._routes:
            start, goal = self.ends_of(query)
            held_out = self.held_out(query)
            started = time.perf_counter()
            routes = find_routes(
                graph, goal, held_out=held_out, start=start, landmarks=self._landmarks
            )
            self._routes[query] = routes, time.perf_counter() - started
        return self._routes[query]

    def forget_routes(self) -> None:
        """Let go of all routes, so that the next search finds their memory.

        A search takes milliseconds; pages that were never used before cost as much.
        """
        self._routes.clear()

    def ends_of(self, query: Query) -> tuple[Vector, Vector]:
        """Return the latents ``[D]`` of a query's start and goal, as the graph's."""
        if self.graph is None:
            raise BenchmarkError("There is no graph: metro build LATENTS.")
        first, last = (
            self.graph.latents.z[self.frame_of(query.episode, step)]
            for step in (query.start, query.goal)
        )
        return first, last

    def held_out(self, query: Query) -> int | None:
        """Return which episode of the graph is the query's own; None: it has not."""
        return query.episode

    def remarks(self) -> dict[str, Any]:
        """Return what rows of this context say beside the usual; studies add to it."""
        return {}

    def hierarchy_for(self, setting: Setting, goal_distance: int) -> Hierarchy:
        """Return a hierarchical method with its bank, made once."""
        key = setting.method, setting.macro_steps, setting.option, goal_distance
        if key not in self._hierarchies:
            chosen = _settings_of(setting, goal_distance)
            model = require_frozen(self.model, setting.method)
            made = prepare_hierarchy(chosen, model, self.macro, self.corpus)
            self._hierarchies[key] = made
        return self._hierarchies[key]

    def frame_of(self, episode: int, step: int) -> int:
        """Return the row of the corpus, and frame of the graph, of a step."""
        return int(self.corpus.offsets[episode]) + step

    def own_latents(self, query: Query) -> NDArray[np.float32]:
        """Return the latents of the recording from start to goal, ``[d + 1, D]``."""
        frames = self.corpus.frames(query.episode)[query.start : query.goal + 1]
        latents: NDArray[np.float32] = self.model.encode(frames)
        return latents

    def worlds(self, count: int) -> list[Env]:
        """Return worlds that draw what the model was trained on, the same every time.

        Opening one can take a second.
        """
        while len(self._worlds) < count:
            world = open_env(
                self.benchmark,
                image_size=self.model.image_size or self.corpus.image_size,
                rendering=self.model.rendering or self.corpus.rendering or "stock",
            )
            self._worlds.append(world)
        return self._worlds[:count]

    def discard(self, *worlds: Env) -> None:
        """Close worlds and do not use them again, also those that died."""
        for world in worlds:
            self._worlds.remove(world)
            with suppress(Exception):  # what died may not close either
                world.close()


def _settings_of(setting: Setting, goal_distance: int) -> HierarchySettings:
    return hierarchy_settings(
        setting.method,
        goal_distance,
        macro_steps=1 if setting.macro_steps is None else setting.macro_steps,
        leave_one_out=setting.option == "leave-one-out",
        clip_to_box=setting.option == "box",
    )
