"""Measure what the graph charges for a thing that moves by itself.

Bridges are priced by how far apart two frames look. Here frames that were recorded are drawn
again with one thing moved and all else as it was, and the price of the gap is told: what a
bridge would cost that does to the world what no action can do in so few frames.

    python -m research.nudges FOLDER    (with CORPUS.h5 and CORPUS-lewm.latents of each in NUDGES)
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro import PricingCurve, load
from metro.benchmark import load_benchmark
from metro.data.corpus import Corpus, open_corpus
from metro.envs import open_env
from metro.models.loading import load_model
from metro.version import commit
from research.routes import BUDGETS, LYING

TARGET = Path(__file__).parent / "nudges.json"
COUNT = 200
"""Frames that are drawn again."""

CUBE = {
    "cube 2 cm aside": (15, 0.02),
    "cube 4 cm aside": (15, 0.04),
    "cube 8 cm aside": (15, 0.08),
    "cube 4 cm up": (16, 0.04),
    "cube 8 cm up": (16, 0.08),
}
NUDGES: dict[str, tuple[str, dict[str, tuple[int, float]]]] = {
    "pusht-replayed": (
        "state",
        {
            "agent 10 pixels aside": (0, 10.0),
            "agent 20 pixels aside": (0, 20.0),
            "block 10 pixels aside": (2, 10.0),
            "block 20 pixels aside": (2, 20.0),
            "block turned by 10 degrees": (4, np.radians(10)),
            "block turned by 20 degrees": (4, np.radians(20)),
        },
    ),
    "cube": ("qpos", CUBE),
    "cube-planned": ("qpos", CUBE),
}
"""By corpus: the column that is drawn, and which of its numbers is changed by how much."""


def measure(folder: Path, corpus: str) -> dict[str, Any]:
    """Return the median price and its quartiles for each nudge of a corpus."""
    name = corpus.split("-")[0]
    latents = load(folder / f"{corpus}-lewm.latents")
    pricing = PricingCurve.fit(latents, BUDGETS[name])
    column, nudges = NUDGES[corpus]
    with open_corpus(str(folder / f"{corpus}.h5")) as recorded:
        states = recorded.column(column)[_chosen(recorded, name)]
    model = load_model(latents.provenance["model"]["name"])
    world = open_env(
        load_benchmark(name), image_size=model.image_size, rendering=model.rendering
    )

    def encoded(rows: NDArray[Any]) -> NDArray[np.float32]:
        drawn = [world.render_state({column: row}).copy() for row in rows]
        latents: NDArray[np.float32] = model.encode(np.stack(drawn))
        return latents

    before, prices = encoded(states), {}
    for told, (number, change) in nudges.items():
        moved = states.copy()
        moved[:, number] += change
        paid = pricing.price(np.linalg.norm(encoded(moved) - before, axis=1))
        prices[told] = [
            round(float(q), 1) for q in np.quantile(paid, (0.25, 0.5, 0.75))
        ]
    world.close()
    return {
        "corpus": corpus,
        "model": model.name,
        "digest": model.digest[:12],
        "H": BUDGETS[name],
        "frames drawn again": COUNT,
        "price in frames: quartile, median, quartile": prices,
    }


def _chosen(corpus: Corpus, name: str) -> NDArray[np.int64]:
    """Return random rows; of Cube those with the cube on the table."""
    rows = np.arange(corpus.num_frames)
    if name == "cube":
        rows = np.flatnonzero(corpus.column("privileged_block_0_pos")[:, 2] < LYING)
    return np.sort(np.random.default_rng(0).choice(rows, COUNT, replace=False))


def main() -> None:
    """Measure all corpora, and write research/nudges.json."""
    folder = Path(sys.argv[1])
    rows = [measure(folder, corpus) for corpus in NUDGES]
    told = {
        "command": "python -m research.nudges FOLDER",
        "commit": commit(),
        "rows": rows,
    }
    TARGET.write_text(json.dumps(told, indent=1) + "\n")
    print(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
