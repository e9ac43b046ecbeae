"""Measure what replays of a query's own demonstration are worth to metro on PushT.

The demonstrations of `pusht-replayed` are dealt into two halves. Each query is planned twice,
with graphs of one size: one of the half that has replays of its demonstration (its own episode
left out), one of the half that has none.

    python -m research.twins FOLDER    (with pusht-replayed.h5 and pusht-replayed-lewm.metro)
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.benchmark import benchmarks_folder
from metro.evaluation.batch import plan_queries
from metro.evaluation.context import EvalConfig, EvalContext
from metro.evaluation.queries import QuerySet, load_queries
from metro.evaluation.records import Setting
from metro.studies.corpus_size.run_corpus_size import subset_graph
from metro.version import commit

TARGET = Path(__file__).parent / "twins.json"
CORPUS, MODEL = "pusht-replayed", "lewm-small-state-pusht"
BATCH = 25
SETTING = Setting(
    method="metro", plan_blocks=2, waypoint_budget=12, step_budget=150, planner_seed=7
)


def measure(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield how each query went with, and without, replays of its demonstration."""
    queries = load_queries(benchmarks_folder() / "queries" / f"{CORPUS}-d75.csv")
    graph = folder / f"{CORPUS}-lewm.metro"
    with EvalConfig(
        "pusht", str(folder / f"{CORPUS}.h5"), MODEL, graph
    ).open() as whole:
        queries.require_corpus(whole.corpus.digest)
        demonstrations = _demonstrations(
            whole.corpus.column("state"), whole.corpus.offsets
        )
        dealt = np.random.default_rng(0).permutation(demonstrations.max() + 1) % 2
        for half in (0, 1):
            episodes = np.flatnonzero(dealt[demonstrations] == half)
            part = EvalContext(
                *(whole.benchmark, whole.corpus, whole.model),
                subset_graph(whole.graph, episodes),
                corpus_latents=whole.graph.latents,
                graph_episodes=episodes,
            )
            for row in _planned(part, queries):
                episode = row["query"]["episode"]
                yield {
                    **row["query"],
                    "has_replays": bool(dealt[demonstrations[episode]] == half),
                    "episodes": len(episodes),
                    "frames_to_success": row["frames_to_success"],
                }
            part.envs.close()


def _planned(part: EvalContext, queries: QuerySet) -> Iterator[dict[str, Any]]:
    for rows in plan_queries(part, SETTING, list(queries), {}, batch=BATCH):
        print(f"{len(rows)} queries planned", file=sys.stderr)
        yield from rows


def _demonstrations(
    states: NDArray[Any], offsets: NDArray[np.int64]
) -> NDArray[np.int64]:
    """Return the demonstration of every episode: replays start in the same state."""
    _, number = np.unique(states[offsets], axis=0, return_inverse=True)
    return np.asarray(number).ravel()


def main() -> None:
    """Measure, and write research/twins.json."""
    rows = list(measure(Path(sys.argv[1])))
    solved = {
        has: {
            (row["episode"], row["start"])
            for row in rows
            if row["has_replays"] is has and row["frames_to_success"] is not None
        }
        for has in (True, False)
    }
    told = {
        "command": "python -m research.twins FOLDER",
        "commit": commit(),
        "setting": vars(SETTING),
        "queries": len(rows) // 2,
        "solved with replays": len(solved[True]),
        "solved without": len(solved[False]),
        "only with": len(solved[True] - solved[False]),
        "only without": len(solved[False] - solved[True]),
        "rows": rows,
    }
    TARGET.write_text(json.dumps(told, indent=1) + "\n")
    print({name: value for name, value in told.items() if name != "rows"})


if __name__ == "__main__":
    main()
