"""Plan the same queries with and without the graph, and compare."""

from pathlib import Path

import dots
import numpy as np

import metro

corpus = dots.record(Path("dots"))
model = dots.DotModel(metro.ActionStats.of(corpus.column("action")))
graph = metro.FrameGraph.from_corpus(corpus, model, waypoint_budget=8)


def drive(policy, start, goal, steps=100):
    """Return how many steps a policy takes, or None if it does not arrive."""
    goal_image, place = dots.draw(goal[None])[0], start
    for step in range(steps):
        if np.linalg.norm(place - goal) < 1.5:
            return step
        place = np.clip(
            place + policy.act(dots.draw(place[None])[0], goal_image), 4, 28
        )
    return None


queries = np.random.default_rng(1).uniform(6, 26, (3, 2, 2))
for name, make in {
    "metro": lambda: metro.MetroPolicy(graph, model),
    "flat": lambda: metro.FlatPolicy(model),
}.items():
    print(f"{name:6}", [drive(make(), start, goal) for start, goal in queries])
