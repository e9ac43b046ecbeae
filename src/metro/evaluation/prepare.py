"""What planning needs before it starts, made once: a graph, queries."""

from pathlib import Path

from metro.benchmark import Benchmark
from metro.core.graph import FrameGraph, build_graph
from metro.core.neighbours import find_neighbours
from metro.core.pricing import PricingCurve
from metro.data.corpus import Corpus
from metro.data.encode import encode_corpus
from metro.evaluation.queries import QuerySet, load_queries, save_queries
from metro.evaluation.settings import draw_queries
from metro.models.frozen import FrozenModel
from metro.storage.artefacts import load, save
from metro.types import ProgressBar


def prepare_graph(
    corpus: Corpus,
    model: FrozenModel,
    path: Path,
    *,
    waypoint_budget: int,
    bar: ProgressBar,
    device: str | None = None,
) -> FrameGraph:
    """Return the graph at ``path``; make it if it is not there or of something else.

    Latents are beside it. Interrupted, the same call goes on.
    """
    wanted = {"model": model.digest, "corpus": corpus.digest}
    if path.exists():
        graph: FrameGraph = load(path)
        made = graph.latents.provenance
        if {name: made[name]["digest"] for name in wanted} == wanted:
            return graph
    with bar("Encoding") as progress:
        latents = encode_corpus(
            corpus,
            model,
            path.with_suffix(".latents"),
            device=device,
            progress=progress,
            force=True,
        ).latents
    with bar("Neighbour table") as progress:
        table = find_neighbours(latents, progress=progress)
    graph = build_graph(latents, table, PricingCurve.fit(latents, waypoint_budget))
    save(graph, path, force=True)
    return graph


def prepare_queries(  # noqa: PLR0913
    benchmark: Benchmark,
    corpus: Corpus,
    path: Path,
    *,
    goal_distance: int,
    count: int,
    seed: int,
    bar: ProgressBar,
) -> QuerySet:
    """Return the queries at ``path``; draw them if they are not there or of others."""
    if path.exists():
        found = load_queries(path)
        if found.corpus == corpus.digest:
            return found
    with bar("Looking at queries") as progress:
        drawn = draw_queries(
            benchmark,
            corpus,
            goal_distance=goal_distance,
            count=count,
            seed=seed,
            progress=progress,
        )
    save_queries(drawn, path, corpus=corpus.digest)
    return load_queries(path)
