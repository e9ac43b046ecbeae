"""Measure what company changes: first plans of queries encoded and planned together and alone.

Every query has its own random numbers, so both are the same but for rounding: a matrix product
of more rows may add in another order, and a search that goes on from it drifts.

    python -m perf.rounding FOLDER    (with BENCHMARK.h5 of each)
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from metro.benchmark import benchmarks_folder, load_benchmark
from metro.data.corpus import open_corpus
from metro.evaluation.queries import load_queries
from metro.evaluation.records import Setting
from metro.models.loading import load_model
from metro.planners.cem import CEM, CEMSettings, make_stream
from metro.version import commit

TARGET = Path(__file__).parent / "rounding.json"
MODELS = {
    "tworoom": "lewm-small-tworoom",
    "reacher": "lewm-small-reacher",
    "pusht": "lewm-small-state-pusht",
    "cube": "lewm-small-state-cube",
}
COUNT, BLOCKS = 25, 2


def measure(folder: Path, benchmark: str) -> dict[str, Any]:
    """Return how far the first plans of 25 queries at d = 75 are apart, in both ways."""
    model = load_model(MODELS[benchmark])
    queries = load_queries(benchmarks_folder() / "queries" / f"{benchmark}-d75.csv")
    asked = list(queries)[:COUNT]
    with open_corpus(str(folder / f"{benchmark}.h5")) as corpus:
        pictures = [corpus.frames(query.episode) for query in asked]
        starts, goals = (
            np.stack([p[step] for p, step in zip(pictures, steps, strict=True)])
            for steps in ([q.start for q in asked], [q.goal for q in asked])
        )
    seeds = [Setting("flat", BLOCKS, None, 150, 7).seed_of(query) for query in asked]
    iterations = load_benchmark(benchmark).cem_iterations
    solver = CEM(model, CEMSettings(BLOCKS, iterations=iterations))

    def plans(rows: slice) -> NDArray[np.float32]:
        streams = [make_stream(seed) for seed in seeds[rows]]
        return solver.plan(
            model.encode(starts[rows]), model.encode(goals[rows]), streams
        )

    together = plans(slice(None))
    alone = np.concatenate([plans(slice(n, n + 1)) for n in range(len(asked))])
    apart = np.abs(together - alone).max(axis=(1, 2))
    return {
        "benchmark": benchmark,
        "model": model.name,
        "queries": f"{queries.name}, first {len(asked)}",
        "iterations": iterations,
        "same_bits": int((apart == 0).sum()),
        "median_apart": float(np.median(apart)),
        "most_apart": float(apart.max()),
    }


def main() -> None:
    """Measure all benchmarks, and write perf/rounding.json."""
    torch.set_num_threads(1)
    told = {
        "command": "python -m perf.rounding FOLDER",
        "unit": "largest difference of a normalised action (standard deviation 1)",
        "plan_blocks": BLOCKS,
        "planner_seed": 7,
        "kernels": torch.backends.cpu.get_cpu_capability(),
        "commit": commit(),
        "rows": [measure(Path(sys.argv[1]), benchmark) for benchmark in MODELS],
    }
    TARGET.write_text(json.dumps(told, indent=1) + "\n")
    print(TARGET.read_text())


if __name__ == "__main__":
    main()
