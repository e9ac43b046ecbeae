"""Measure how far searches go: all of the graph, until the entry is certain, with landmarks.

For each corpus' own queries at d = 75, processor time of one thread and the share of the frames
that is settled. What is settled is compared bit for bit with the whole search.

    python -m perf.landmarks FOLDER [CORPUS ...]    (with CORPUS-lewm.metro in it)

Without names all of CORPORA in research/routes.py; with names the rows of the others stay as they were.
"""

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from metro import PricingCurve, build_graph, find_routes, load
from metro.benchmark import benchmarks_folder
from metro.core.landmarks import choose_landmarks
from metro.core.search import Routes
from metro.evaluation.queries import load_queries
from metro.version import commit
from research.routes import BUDGETS, CORPORA

TARGET = Path(__file__).parent / "landmarks.json"
COUNT = 25


def measure(folder: Path, corpus: str) -> dict[str, Any]:
    """Return the medians over the first 25 queries of a corpus."""
    graph = load(folder / f"{corpus}-lewm.metro")
    pricing = PricingCurve.fit(graph.latents, BUDGETS[corpus.split("-")[0]])
    graph = build_graph(graph.latents, graph.table, pricing)
    queries = load_queries(benchmarks_folder() / "queries" / f"{corpus}-d75.csv")
    z, offsets = graph.latents.z, graph.latents.episode_offsets
    find_routes(graph, z[0], start=z[-1], landmarks=choose_landmarks(graph, 1))
    landmarks, chosen = _timed(lambda: choose_landmarks(graph))
    ways: dict[str, dict[str, Any]] = {
        "all": {},
        "until certain": {"start": True},
        "with landmarks": {"start": True, "landmarks": landmarks},
    }
    told: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    for query in list(queries)[:COUNT]:
        first = int(offsets[query.episode])
        start, goal = z[first + query.start], z[first + query.goal]
        whole: Routes | None = None
        for name, options in ways.items():
            asked = options | ({"start": start} if "start" in options else {})
            routes, seconds = _timed(
                lambda: find_routes(graph, goal, held_out=query.episode, **asked)  # noqa: B023
            )
            whole = whole or routes
            settled = np.isfinite(routes.cost_to_go)
            for array in ("cost_to_go", "successor"):
                same = getattr(routes, array)[settled] == getattr(whole, array)[settled]
                assert same.all(), (corpus, query)
            told[name].append((1000 * seconds, float(settled.mean())))
    return {
        "corpus": corpus,
        "commit": commit(),
        "frames": graph.num_frames,
        "queries": f"{queries.name}, first {COUNT}",
        "choosing landmarks, seconds": round(chosen, 2),
        "milliseconds": {
            n: round(float(np.median(t, axis=0)[0]), 2) for n, t in told.items()
        },
        "settled": {
            n: round(float(np.median(t, axis=0)[1]), 4) for n, t in told.items()
        },
    }


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    started = time.process_time()
    return call(), time.process_time() - started


def main() -> None:
    """Measure the corpora that were named, and write perf/landmarks.json."""
    folder, names = Path(sys.argv[1]), sys.argv[2:] or CORPORA
    known = {row["corpus"]: row for row in json.loads(TARGET.read_text())["rows"]}
    known |= {name: measure(folder, name) for name in names}
    told = {
        "command": "python -m perf.landmarks FOLDER",
        "rows": sorted(known.values(), key=lambda row: str(row["corpus"])),
    }
    TARGET.write_text(json.dumps(told, indent=1) + "\n")
    print(TARGET.read_text())


if __name__ == "__main__":
    main()
