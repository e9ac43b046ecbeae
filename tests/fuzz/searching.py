"""Healthy graphs, and everything that can be done with one that may not be."""

from dataclasses import replace
from itertools import pairwise

import numpy as np

import metro
from metro.core.inspect import inspect_graph
from metro.core.reach import ReachPricing
from metro.data.reach_table import measure_table
from metro.storage.readers import read_latents

NUM_FRAMES, DIM, EPISODES, BUDGET = 3_000, 20, 50, 8
GOALS = ((70, None), (1_234, 0), (2_999, 49), (0, 20))
"""Frames to go to, and the episodes left out."""


class Sideways:
    """A reach without a model: only the first coordinate can be changed."""

    def __call__(self, origins, targets):
        across = np.abs(targets[..., 1:] - origins[:, None, 1:]).sum(axis=-1)
        return across.astype(np.float64) / 10


def healthy_rows():
    """Return the latents of random walks."""
    rng = np.random.default_rng(0)
    steps = rng.normal(size=(EPISODES, NUM_FRAMES // EPISODES, DIM)).cumsum(axis=1)
    return (0.3 * steps).reshape(NUM_FRAMES, DIM).astype(np.float32)


def make_graphs(folder):
    """Save a graph priced by gap and one priced by reach, ``gap`` and ``reach``."""
    rows = healthy_rows()
    offsets = np.arange(0, NUM_FRAMES + 1, NUM_FRAMES // EPISODES)
    latents = metro.Latents(rows, offsets, {"encoder": "none"})
    pricing = metro.PricingCurve.fit(latents, BUDGET)
    table = metro.find_neighbours(latents, 8)
    reach = measure_table(latents, table.frame, Sideways())
    directed = (replace(table, reach=reach), pricing, ReachPricing(1.0, 1.0, 5.0))
    metro.save(metro.build_graph(latents, table.nearest(4), pricing), folder / "gap")
    metro.save(metro.build_graph(latents, *directed), folder / "reach")


def steps_of(path, part):
    """Do everything with a graph, step by step; yield arrays that tell the answers."""
    if part == "latents":
        latents = read_latents(path)
        yield latents.episode_offsets
        graph = metro.FrameGraph.from_latents(latents, BUDGET)
        yield from answers(graph, GOALS[:1])
        return
    graph = metro.load(path)
    graph = replace(graph, measure=Sideways()) if graph.is_directed else graph
    yield from answers(graph, GOALS)
    if part == "damaged":
        return
    landmarks = metro.choose_landmarks(graph, 2)
    yield landmarks.costs
    yield from answers(graph, GOALS[:2], landmarks)
    yield np.frombuffer(repr(inspect_graph(graph)).encode(), np.uint8)
    pricing = metro.PricingCurve.fit(graph.latents, BUDGET + 3)
    again = metro.build_graph(graph.latents, graph.table, pricing, graph.reach)
    yield from answers(replace(again, measure=graph.measure), GOALS[:1])
    yield read_latents(path).z


def answers(graph, goals, landmarks=None):
    """Yield routes and sub-goals from 13 observations to each goal."""
    rows = healthy_rows()
    rng = np.random.default_rng(1)
    for frame, held_out in goals:
        seen = rows[rng.integers(0, NUM_FRAMES, 13)] + np.float32(0.01)
        begin = None if landmarks is None else seen[0]
        routes = metro.find_routes(
            graph, rows[frame], held_out=held_out, start=begin, landmarks=landmarks
        )
        for no_route in ("nearest", "reachable"):
            found = metro.MetroPlanner(routes, no_route).many(list(seen))
            yield np.array([(each.cost_to_go, each.spent) for each in found])
            yield np.concatenate([np.array(each.path, np.int64) for each in found])
        whole = routes.complete()
        require_sums(whole)
        yield whole.cost_to_go
        yield whole.successor


def require_sums(routes):
    """Fail unless the costs along routes add up to what the search found."""
    for frame in range(0, routes.graph.num_frames, 97):
        path = routes.route(frame)
        if path:
            total = sum(routes.graph.edge_cost(u, v) for u, v in pairwise(path))
            total += routes.cost_to_go[path[-1]]
            assert abs(total - routes.cost_to_go[frame]) < 1e-6, (frame, total)
