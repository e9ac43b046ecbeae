"""The backward search: ours, and shortest paths of graph libraries.

A peer gets the reversed graph, built beforehand, with the goal as one vertex more; only
its search is timed. igraph, networkit and rustworkx return costs without successors,
which spares them work.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metro.core import search as ours
from metro.core.graph import TEMPORAL_COST
from metro.core.neighbours import NO_EPISODE, NO_FRAME
from metro.types import Costs
from perf.case import Case
from perf.measuring import Row, best_of, timed, try_peer, with_ratios

NUM_GOALS, _BATCH = 3, 8
_TOLERANCE = 1e-9
_CHUNK = 1 << 20


class Edges(NamedTuple):
    """The reversed graph and the goal, the last vertex."""

    tail: NDArray[np.int64]
    head: NDArray[np.int64]
    cost: Costs
    num_vertices: int

    @property
    def goal(self) -> int:
        """The vertex that the search starts from."""
        return self.num_vertices - 1


Costing = Callable[[], NDArray[Any]]
"""One search: returns the cost of every vertex, ``inf`` where there is no route."""


def measure_search(case: Case) -> list[Row]:
    """Return rows of one goal's search: ours first, then the peers."""
    goals = case.sample(NUM_GOALS, purpose=1)
    case.tell("our search")
    row, costs = _measure_ours(case, goals)
    rows = [row]
    for method, (package, prepare) in PEERS.items():
        case.tell(method)
        rows.append(_measure_peer(case, method, package, prepare, costs))
    rows = with_ratios(rows, row["seconds"])
    return [*rows, _measure_workers(case)]


def _measure_ours(case: Case, goals: NDArray[np.int64]) -> tuple[Row, dict[int, Costs]]:
    graph, z = case.graph, case.latents.z
    ours.find_routes(graph, z[goals[0]])  # compiles
    wholes, attaching, costs = [], [], {}
    for goal in goals:
        whole, routes = best_of(2, ours.find_routes, graph, z[goal])
        attach, _ = best_of(2, _seeds, case, goal)
        wholes.append(whole)
        attaching.append(attach)
        costs[int(goal)] = routes.cost_to_go
    reached = float(np.median([np.isfinite(cost).mean() for cost in costs.values()]))
    seconds = float(np.median(np.subtract(wholes, attaching)))
    row = case.row(
        "search",
        "metro",
        seconds=seconds,
        whole_seconds=float(np.median(wholes)),
        num_goals=len(goals),
        num_bridges=graph.num_bridges,
        reached=reached,
        note=f"search only; with the goal attached {1000 * np.median(wholes):.3g} ms; "
        f"{reached:.0%} of frames reached",
    )
    return row, costs


def _measure_peer(
    case: Case,
    method: str,
    package: str,
    prepare: Callable[[Any, Edges], Costing],
    costs: dict[int, Costs],
) -> Row:
    def absent(note: str) -> Row:
        return case.row("search", method, note=note)

    def run(module: Any) -> Row:
        spent, worst = [], 0.0
        for goal, cost_to_go in costs.items():
            search = prepare(module, reversed_edges(case, goal))
            seconds, found = best_of(2, search)
            spent.append(seconds)
            worst = max(worst, difference(found[:-1], cost_to_go))
        return case.row(
            "search",
            method,
            seconds=float(np.median(spent)),
            exact=worst <= _TOLERANCE,
            largest_difference=worst,
            note=f"cost-to-go differs from ours by at most {worst:.1g}",
        )

    return try_peer(package, absent, run)


def difference(found: NDArray[Any], expected: Costs) -> float:
    """Return the largest difference; ``inf`` if other frames have a route."""
    reached = np.isfinite(expected)
    if not np.array_equal(reached, np.isfinite(found)):
        return float("inf")
    return float(np.abs(found[reached] - expected[reached]).max(initial=0.0))


def _seeds(case: Case, goal: int) -> tuple[NDArray[np.int64], Costs]:
    graph = case.graph
    found = graph.index.nearest(
        case.latents.z[goal][None], graph.num_neighbours, np.array([NO_EPISODE])
    )
    frames, gaps = found[0][0], found[1][0]
    near = (frames != NO_FRAME) & (gaps <= graph.pricing.radius)
    return frames[near].astype(np.int64), graph.pricing.price(gaps[near])


def reversed_edges(case: Case, goal: int) -> Edges:
    """Return all edges v → u of the graph's u → v, and the goal's own."""
    graph, count = case.graph, case.latents.num_frames
    later = np.setdiff1d(np.arange(count), case.latents.episode_offsets[:-1])
    bridged = np.repeat(np.arange(count), np.diff(graph.bridge_offsets))
    seeds, prices = _seeds(case, goal)
    tail = np.concatenate([later, bridged, np.full(len(seeds), count)])
    head = np.concatenate([later - 1, graph.bridge_frame.astype(np.int64), seeds])
    ridden = np.full(len(later), TEMPORAL_COST)
    cost = np.concatenate([ridden, graph.bridge_cost, prices])
    return Edges(tail, head, cost, count + 1)


def _scipy(csgraph: Any, edges: Edges) -> Costing:
    from scipy.sparse import csr_array

    size = edges.num_vertices
    graph = csr_array((edges.cost, (edges.tail, edges.head)), shape=(size, size))

    def search() -> NDArray[Any]:
        found, _ = csgraph.dijkstra(
            graph, directed=True, indices=edges.goal, return_predecessors=True
        )
        return np.asarray(found)

    return search


def _igraph(igraph: Any, edges: Edges) -> Costing:
    pairs = np.stack([edges.tail, edges.head], axis=1)
    graph = igraph.Graph(n=edges.num_vertices, edges=pairs, directed=True)
    graph.es["weight"] = edges.cost.tolist()

    def search() -> NDArray[Any]:
        return np.asarray(graph.distances(edges.goal, weights="weight", mode="out")[0])

    return search


def _networkit(networkit: Any, edges: Edges) -> Costing:
    networkit.setNumberOfThreads(1)
    unsigned = edges.tail.astype(np.uint64), edges.head.astype(np.uint64)
    graph = networkit.GraphFromCoo(
        (edges.cost, unsigned), n=edges.num_vertices, weighted=True, directed=True
    )

    def search() -> NDArray[Any]:
        run = networkit.distance.Dijkstra(graph, edges.goal, storePaths=False)
        run.run()
        found = np.array(run.getDistances(asarray=True))
        found[found > 1e300] = np.inf  # networkit's way to say: not reached
        return found

    return search


def _rustworkx(rustworkx: Any, edges: Edges) -> Costing:
    graph = rustworkx.PyDiGraph(multigraph=True)
    graph.add_nodes_from(range(edges.num_vertices))
    for part in _chunks(len(edges.tail)):  # tuples of all edges would fill the memory
        columns = edges.tail[part], edges.head[part], edges.cost[part]
        graph.add_edges_from(list(zip(*(c.tolist() for c in columns), strict=True)))

    def search() -> NDArray[Any]:
        lengths = rustworkx.dijkstra_shortest_path_lengths(graph, edges.goal, float)
        found = np.full(edges.num_vertices, np.inf)
        found[list(lengths.keys())] = list(lengths.values())
        found[edges.goal] = 0
        return found

    return search


def _chunks(length: int) -> Iterator[slice]:
    for start in range(0, length, _CHUNK):
        yield slice(start, start + _CHUNK)


PEERS: dict[str, tuple[str, Callable[[Any, Edges], Costing]]] = {
    "scipy dijkstra + predecessors": ("scipy.sparse.csgraph", _scipy),
    "igraph distances": ("igraph", _igraph),
    "networkit Dijkstra": ("networkit", _networkit),
    "rustworkx dijkstra": ("rustworkx", _rustworkx),
}


def _measure_workers(case: Case) -> Row:
    """Return how much faster two workers answer a batch of goals than one."""
    many: Any = getattr(ours, "find_routes_many", None)
    method = f"metro, 2 workers, {_BATCH} goals"
    if many is None:
        return case.row("search", method, note="not run: no find_routes_many")
    case.tell(method)
    goals = case.latents.z[case.sample(_BATCH, purpose=2)]
    many(case.graph, goals[:2], workers=2)
    one, _ = timed(many, case.graph, goals, workers=1)
    two, _ = timed(many, case.graph, goals, workers=2)
    return case.row(
        "search",
        method,
        seconds=two,
        one_worker_seconds=one,
        speed_up=one / two,
        threads=2,
        note=f"one worker {one:.3f} s: {one / two:.2f} times as long",
    )
