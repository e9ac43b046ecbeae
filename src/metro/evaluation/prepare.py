"""The queries of an evaluation, drawn once and kept."""

from pathlib import Path

from metro.benchmark import Benchmark
from metro.data.corpus import Corpus
from metro.evaluation.draw_queries import draw_queries
from metro.evaluation.queries import QuerySet, load_queries, save_queries
from metro.types import ProgressBar


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
        # Queries name frames by number, and in another corpus those are other frames.
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
    # Read back, for name and digest are those of the file.
    return load_queries(path)
