"""Measure the routes that queries are given, and what their bridges jump over.

For each benchmark's own queries at d = 75: what the route costs, how much of it is bridges,
and, in the simulator's own state, how far apart the two ends of those bridges are, and how far
bridges and recordings move PushT's block. For Cube,
of the starts with the cube on the table: whether a route grasps it along a recording, as a robot
must, or only by jumping from a frame where it lies free to one where it is held.

    python -m research.routes FOLDER [CORPUS ...]    (FOLDER has CORPUS.h5 and CORPUS-lewm.metro)

Without names all of CORPORA; with names the rows of the others stay as they were.
"""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro import PricingCurve, build_graph, find_routes, load
from metro.benchmark import benchmarks_folder
from metro.core.entry import find_entries
from metro.core.graph import FrameGraph
from metro.data.corpus import open_corpus
from metro.evaluation.queries import load_queries
from metro.version import commit

TARGET = Path(__file__).parent / "routes.json"
BUDGETS = {"tworoom": 8, "reacher": 10, "pusht": 18, "cube": 7}
CORPORA = (
    "tworoom",
    "reacher",
    "pusht",
    "pusht-replayed",
    "pusht-18685",
    "cube",
    "cube-planned",
)
"""Recordings, named after their benchmark and, if there are several, what is special."""
PARTS = {
    "pusht": {
        "agent, pixels": ("state", slice(0, 2)),
        "block, pixels": ("state", slice(2, 4)),
    },
    "cube": {
        "effector, cm": ("proprio_effector_pos", slice(0, 3)),
        "cube, cm": ("privileged_block_0_pos", slice(0, 3)),
    },
}
"""Columns of the recording that tell where things are; Cube's are metres."""
Paths = list[tuple[int, NDArray[np.int64]]]
"""A query's first frame and the frames of its route, for each."""
LYING = 0.03
"""Metres: the middle of a cube that lies on the table is at 0.02."""


def measure(folder: Path, corpus: str) -> dict[str, Any]:
    """Return medians over the routes of the 50 queries of a corpus."""
    graph = load(folder / f"{corpus}-lewm.metro")
    benchmark = corpus.split("-")[0]
    budget = BUDGETS[benchmark]
    pricing = PricingCurve.fit(graph.latents, budget)
    graph = build_graph(graph.latents, graph.table, pricing)
    queries = load_queries(benchmarks_folder() / "queries" / f"{corpus}-d75.csv")
    costs, counts, ends, paths = [], [], [], []
    for query in queries:
        first = int(graph.latents.episode_offsets[query.episode])
        start, goal = (
            graph.latents.z[first + step] for step in (query.start, query.goal)
        )
        routes = find_routes(graph, goal, held_out=query.episode)
        (around,) = find_entries(graph, [start], held_out=query.episode)
        entries = around.candidates
        entry = int(entries[np.argmin(routes.cost_to_go[entries])])
        path = np.array(routes.route(entry))
        if len(path) == 0:
            continue
        jumps = np.flatnonzero(np.diff(path) != 1)
        costs.append(routes.cost_to_go[entry])
        counts.append(len(jumps))
        ends += [(int(path[i]), int(path[i + 1])) for i in jumps]
        paths.append((first + query.start, path))
    return {
        "benchmark": benchmark,
        "episodes": graph.latents.num_episodes,
        "waypoint_budget": budget,
        "queries": queries.name,
        "commit": commit(),
        "routes": len(costs),
        "median_cost": round(float(np.median(costs)), 1),
        "median_bridges": float(np.median(counts)),
        "median_bridge_price": round(float(np.median(_prices(graph, ends))), 2),
        "apart": _apart(folder, corpus, np.array(ends)),
    } | _further(folder, corpus, paths)


def _prices(graph: FrameGraph, ends: list[tuple[int, int]]) -> list[float]:
    pairs = np.array(ends)
    gaps = np.linalg.norm(
        graph.latents.z[pairs[:, 0]] - graph.latents.z[pairs[:, 1]], axis=1
    )
    return list(graph.pricing.price(gaps.astype(np.float64)))


def _apart(folder: Path, recording: str, ends: NDArray[np.int64]) -> dict[str, float]:
    """Return the median distance between the ends of bridges, by part of the state."""
    found = {}
    benchmark = recording.split("-")[0]
    with open_corpus(str(folder / f"{recording}.h5")) as corpus:
        for name, (column, part) in PARTS.get(benchmark, {}).items():
            values = corpus.column(column)[:, part]
            scale = 100 if name.endswith("cm") else 1
            jumps = np.linalg.norm(values[ends[:, 0]] - values[ends[:, 1]], axis=1)
            found[name] = round(float(np.median(jumps)) * scale, 2)
        if benchmark == "pusht":
            angle = corpus.column("state")[:, 4]
            turned = angle[ends[:, 0]] - angle[ends[:, 1]]
            turned = np.abs((turned + np.pi) % (2 * np.pi) - np.pi)
            found["block, degrees"] = round(float(np.degrees(np.median(turned))), 2)
    return found


def _further(folder: Path, recording: str, paths: Paths) -> dict[str, Any]:
    """Return what routes do to the thing that is to be moved."""
    if recording.startswith("cube"):
        return {"grasps": _grasps(folder, recording, paths)}
    if not recording.startswith("pusht"):
        return {}
    with open_corpus(str(folder / f"{recording}.h5")) as corpus:
        block = np.asarray(corpus.column("state"))[:, 2:4]
    return {"block, pixels": _moved(block, [path for _, path in paths])}


def _moved(places: NDArray[Any], paths: list[NDArray[np.int64]]) -> dict[str, float]:
    """Return how far a thing is moved by a route's bridges, and along recordings.

    Medians over routes, from the entry to the last frame before the goal.
    """
    moved = []
    for path in paths:
        bridges = np.diff(path) != 1
        far = np.linalg.norm(np.diff(places[path], axis=0), axis=1)
        moved.append((float(far[bridges].sum()), float(far[~bridges].sum())))
    by_bridges, by_rides = np.median(moved, axis=0)
    return {
        "moved by bridges": round(float(by_bridges), 1),
        "moved along recordings": round(float(by_rides), 1),
    }


def _grasps(folder: Path, recording: str, paths: Paths) -> dict[str, Any]:
    """Return how routes of starts on the table get hold of the cube, and who moves it."""
    with open_corpus(str(folder / f"{recording}.h5")) as corpus:
        cube = np.asarray(corpus.column("privileged_block_0_pos"))
        held = np.asarray(corpus.column("proprio_gripper_contact")).ravel() > 0.5
    told = {"starts on the table": 0, "along a recording": 0, "by a bridge only": 0}
    lying = [path for start, path in paths if cube[start, 2] < LYING]
    for path in lying:
        bridges = np.diff(path) != 1
        grasps = ~held[path[:-1]] & held[path[1:]]
        along, jumped = (grasps & ~bridges).any(), (grasps & bridges).any()
        told["starts on the table"] += 1
        told["along a recording"] += int(along)
        told["by a bridge only"] += int(jumped and not along)
    return told | {"cube, cm": _moved(100 * cube, lying)}


def main() -> None:
    """Measure the corpora that were named, and write research/routes.json."""
    folder, names = Path(sys.argv[1]), sys.argv[2:] or CORPORA
    known = {row["queries"]: row for row in json.loads(TARGET.read_text())["rows"]}
    measured = [measure(folder, corpus) for corpus in names]
    known |= {row["queries"]: row for row in measured}
    rows = sorted(known.values(), key=lambda row: str(row["queries"]))
    told = {"command": "python -m research.routes FOLDER", "rows": rows}
    TARGET.write_text(json.dumps(told, indent=1) + "\n")
    print(TARGET.read_text())


if __name__ == "__main__":
    main()
