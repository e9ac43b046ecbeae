"""Your own environment: record it, plan in it, with a model that knows no wall."""

from pathlib import Path

import dots
import numpy as np

import metro


class TwoRooms:
    """A dot, a wall at x = 16, a door between y = 4 and y = 10."""

    def __init__(self, place):
        self.place = np.array(place, dtype=float)

    def step(self, action):
        moved = np.clip(self.place + np.clip(action, -1, 1), 3, 29)
        crosses = (self.place[0] < 16) != (moved[0] < 16)
        if not crosses or 4 < moved[1] < 10:
            self.place = moved

    def render(self):
        return dots.draw(self.place[None])[0]


rng, pixels, actions = np.random.default_rng(0), [], []
for _ in range(40):
    here, there = rng.permutation([rng.uniform(5, 13), rng.uniform(19, 27)])
    env = TwoRooms((here, rng.uniform(5, 28)))
    route = [(here, 7), (there, 7), (there, rng.uniform(5, 28))]
    for _ in range(90):
        away = np.array(route[0]) - env.place
        if np.linalg.norm(away) < 1.5 and len(route) > 1:
            route.pop(0)
        action = 0.8 * away / max(np.linalg.norm(away), 0.8) + rng.normal(0, 0.1, 2)
        pixels.append(env.render())
        actions.append(action.astype(np.float32))
        env.step(action)
Path("rooms").mkdir()
np.savez("rooms/rooms.npz", pixels=pixels, action=actions, ep_len=np.full(40, 90))

corpus = metro.open_corpus("rooms/rooms.npz")
model = dots.DotModel(metro.ActionStats.of(corpus.column("action")))
graph = metro.FrameGraph.from_corpus(corpus, model, waypoint_budget=6)
goal = np.array([24.0, 24.0])
for policy in (metro.FlatPolicy(model), metro.MetroPolicy(graph, model)):
    env, steps = TwoRooms((8.0, 24.0)), 0
    while np.linalg.norm(env.place - goal) > 2 and steps < 150:
        env.step(policy.act(env.render(), dots.draw(goal[None])[0]))
        steps += 1
    print(f"{type(policy).__name__}: at {env.place.round(1)} after {steps} steps")
