"""Queries drawn from a corpus and looked at in their environment, or read."""

from dataclasses import replace
from pathlib import Path

from metro.benchmark import Benchmark, benchmarks_folder, load_benchmark
from metro.data.corpus import Corpus
from metro.envs import open_env
from metro.errors import BenchmarkError
from metro.evaluation.queries import (
    Query,
    QuerySet,
    load_queries,
    sample_queries,
)
from metro.types import Env, Progress


def draw_queries(
    benchmark: Benchmark,
    corpus: Corpus,
    *,
    goal_distance: int,
    count: int,
    seed: int,
    progress: Progress | None = None,
) -> list[Query]:
    """Return sampled queries, each looked at in its environment."""
    corpus.require(benchmark)
    drawn = sample_queries(
        corpus.lengths, goal_distance=goal_distance, count=count, seed=seed
    )
    env = open_env(benchmark, image_size=corpus.image_size)
    try:
        looked = []
        for query in drawn:
            looked.append(look_at(env, corpus, query))
            if progress is not None:
                progress(len(looked), count)
    finally:
        env.close()
    return looked


def look_at(env: Env, corpus: Corpus, query: Query) -> Query:
    """Return a query with what its environment says about the recording.

    Whether the start meets the goal, and after how many frames the recording first
    does: the environment is put into each recorded state in turn.
    """
    first = int(corpus.offsets[query.episode])
    env.reset(0)
    met = []
    # States are set, not replayed: actions of a recording need not reproduce it.
    for step in range(query.start, query.goal + 1):
        env.set_state(corpus.row(first + step))
        if step == query.start:
            env.set_goal(corpus.row(first + query.goal))
        met.append(env.is_solved())
    # Without the start: a ratio to a recording of 0 frames means nothing.
    later = [step for step, solved in enumerate(met) if solved and step > 0]
    return replace(
        query, is_presolved=met[0], demonstration_frames=later[0] if later else None
    )


def find_queries(
    benchmark: str, goal_distance: int, path: Path | None, first: int | None = None
) -> QuerySet:
    """Return the (``first``) queries of a file, or the benchmark's for a distance.

    Raise `BenchmarkError` where the file has other distances than the given one.
    """
    load_benchmark(benchmark)  # a name that is wrong is said first
    own = benchmarks_folder() / "queries" / f"{benchmark}-d{goal_distance}.csv"
    found = load_queries(path or own)
    for query in found:
        if query.goal_distance != goal_distance:
            raise BenchmarkError(
                f"{found.name} has goals {query.goal_distance} frames away, asked for "
                f"{goal_distance}. Give --goal-distance {query.goal_distance}."
            )
    return found if first is None else found.first(first)
