"""Queries of a benchmark planned in its world: rows out, resumable."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from metro.errors import BenchmarkError
from metro.evaluation.benchmark import Benchmark
from metro.evaluation.guides import FlatGuide, MetroGuide
from metro.evaluation.queries import Query
from metro.evaluation.records import Setting, append_rows, key_of, read_rows, to_json
from metro.evaluation.runner import Attempt, Guide, run_attempts
from metro.graph import FrameGraph
from metro.integrations.acting import ModelActor
from metro.integrations.cem import CEMSettings
from metro.integrations.corpora import Corpus
from metro.integrations.encoding import require_fitting
from metro.integrations.models.frozen import FrozenModel
from metro.integrations.recording.plan import library_versions
from metro.integrations.rendering import find_renderer
from metro.integrations.worlds import open_world
from metro.planner import MetroPlanner
from metro.search import find_routes
from metro.types import World

Rows = list[dict[str, Any]]
Progress = Callable[[int, int, int], None]
"""Called with queries (done, total) and how many of them succeeded."""


@dataclass(frozen=True)
class Bench:
    """What queries are asked of: a world, a recording, a model, perhaps a graph."""

    benchmark: Benchmark
    corpus: Corpus
    model: FrozenModel
    graph: FrameGraph | None = None

    def check(self, setting: Setting) -> None:
        """Raise a `MetroError` unless the parts belong together."""
        self.corpus.require(self.benchmark)
        require_fitting(self.corpus, self.model)
        if setting.method != "metro":
            return
        if self.graph is None:
            raise BenchmarkError("method metro needs a graph: metro build LATENTS.")
        made = self.graph.latents.provenance.get("model", {}).get("digest")
        if made != self.model.digest:
            raise BenchmarkError(
                f"The graph's latents are of model {str(made)[:12]}, not of "
                f"{self.model.name} ({self.model.digest[:12]}). Encode and build anew."
            )
        budget = self.graph.pricing.waypoint_budget
        if budget != setting.waypoint_budget:
            raise BenchmarkError(
                f"The graph has H = {budget}, asked for {setting.waypoint_budget}. "
                f"Build it anew."
            )


def evaluate(
    bench: Bench,
    setting: Setting,
    queries: Sequence[Query],
    path: Path,
    *,
    batch: int = 25,
    progress: Progress | None = None,
) -> Rows:
    """Plan every query in its world; append a row each, and return them in order.

    Rows that the file has already are not planned again.
    """
    bench.check(setting)
    _check_queries(bench.corpus, queries)
    told = _told(bench)
    done = {key_of(row): row for row in read_rows(path)}
    wanted = [told | to_json(setting, query) for query in queries]
    left = [
        query
        for query, row in zip(queries, wanted, strict=True)
        if key_of(row) not in done
    ]
    worlds = _worlds(bench, min(batch, len(left)))
    try:
        for first in range(0, len(left), batch):
            part = left[first : first + batch]
            rows = [told | row for row in _answer(bench, setting, part, worlds)]
            append_rows(rows, path)
            done |= {key_of(row): row for row in rows}
            if progress is not None:
                answered = [done[key] for key in map(key_of, wanted) if key in done]
                solved = sum(row["frames_to_success"] is not None for row in answered)
                progress(len(answered), len(queries), solved)
    finally:
        for world in worlds:
            world.close()
    return [done[key_of(row)] for row in wanted]


def _check_queries(corpus: Corpus, queries: Sequence[Query]) -> None:
    """Raise `BenchmarkError` at the first query that the corpus does not have."""
    for query in queries:
        known = 0 <= query.episode < corpus.num_episodes
        length = int(corpus.lengths[query.episode]) if known else 0
        if not 0 <= query.start < query.goal < length:
            raise BenchmarkError(
                f"{corpus.name} has no query {query.episode},{query.start},"
                f"{query.goal}: {corpus.num_episodes} episodes, {length} frames in "
                f"that one. Record the corpus that the queries are from."
            )


def _told(bench: Bench) -> dict[str, Any]:
    """Return what every row says about where it comes from."""
    graph = bench.graph
    return {
        "benchmark": bench.benchmark.name,
        "model": {"name": bench.model.name, "digest": bench.model.digest},
        "corpus": {
            "name": Path(bench.corpus.name).name,
            "digest": bench.corpus.digest,
        },
        "graph": None if graph is None else graph.latents.digest,
        "rendering": bench.model.rendering,
        "renderer": str(find_renderer(bench.benchmark)),
        "versions": library_versions(),
    }


def _worlds(bench: Bench, count: int) -> list[World]:
    return [
        open_world(
            bench.benchmark,
            image_size=bench.model.image_size,
            rendering=bench.model.rendering,
        )
        for _ in range(count)
    ]


def _answer(
    bench: Bench, setting: Setting, queries: Sequence[Query], worlds: list[World]
) -> Iterator[dict[str, Any]]:
    """Yield the outcome of every query of a batch."""
    attempts = [
        _attempt(bench, setting, query, world)
        for query, world in zip(queries, worlds, strict=False)
    ]
    settings = CEMSettings(
        setting.plan_blocks, iterations=bench.benchmark.cem_iterations
    )
    seeds = [setting.seed_of(query) for query in queries]
    actor = ModelActor(bench.model, settings, seeds)
    seconds = run_attempts(attempts, actor, step_budget=setting.step_budget)
    each = {name: spent / len(queries) for name, spent in vars(seconds).items()}
    for query, attempt in zip(queries, attempts, strict=True):
        yield to_json(setting, query) | {
            "frames_to_success": attempt.frames_to_success,
            "is_presolved": attempt.is_presolved,
            "kinds": dict(attempt.kinds),
            "seconds": {name: round(spent, 4) for name, spent in each.items()},
            "batch": len(queries),
        }


def _attempt(bench: Bench, setting: Setting, query: Query, world: World) -> Attempt:
    corpus = bench.corpus
    first = int(corpus.offsets[query.episode])
    frames = corpus.frames(query.episode)
    goal = bench.model.encode(frames[query.goal][None])[0]
    world.reset(0)
    world.restore(corpus.row(first + query.start))
    world.aim(corpus.row(first + query.goal))
    guide = _guide(bench, setting, query, goal)
    return Attempt(world, frames[query.start], guide, world.is_solved())


def _guide(bench: Bench, setting: Setting, query: Query, goal: np.ndarray) -> Guide:
    if setting.method == "flat" or bench.graph is None:
        return FlatGuide(goal)
    routes = find_routes(bench.graph, goal, held_out=query.episode)
    return MetroGuide(MetroPlanner(routes))
