"""A policy in a loop of your own, as on a robot: a picture in, an action out."""

from pathlib import Path

import dots
import numpy as np

import metro

corpus = dots.record(Path("dots"))
model = dots.DotModel(metro.ActionStats.of(corpus.column("action")))
graph = metro.FrameGraph.from_corpus(corpus, model, waypoint_budget=8)
policy = metro.MetroPolicy(graph, model)

place, goal = np.array([6.0, 6.0]), np.array([26.0, 25.0])
goal_image = dots.draw(goal[None])[0]
for step in range(120):
    if np.linalg.norm(place - goal) < 1.5:
        break
    camera = dots.draw(place[None])[0]
    place = np.clip(place + policy.act(camera, goal_image), 4, 28)
    if step % 10 == 0:
        print(f"step {step:3}: at {place.round(1)}, {policy.sub_goals[0].kind.name}")
print(f"arrived after {step} steps")
