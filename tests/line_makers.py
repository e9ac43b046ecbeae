"""An environment of three lines, a planner for it, and a graph of its recordings."""

import numpy as np

from metro import PricingCurve, build_graph, find_neighbours
from metro.core.latents import Latents
from metro.evaluation.rollout import Rollout
from metro.planners.methods.flat import GoalSelector


class Line:
    """A point on a line; a step moves it by the action; the goal is one tick wide."""

    action_size = 1

    def __init__(self, place, goal):
        self.place, self.goal = float(place), float(goal)

    def step(self, action):
        self.place += float(action[0])
        return self.is_solved()

    def is_solved(self):
        return abs(self.place - self.goal) < 0.5

    def get_state(self):
        return {"place": np.array([self.place])}

    def render(self):
        return np.full((1, 1, 3), round(self.place), dtype=np.uint8)


class Walker:
    """Sees the place, and walks towards the target, at most one a frame."""

    def __init__(self, frames):
        self.frames = frames
        self.batches = []

    def encode(self, frames):
        return frames.reshape(len(frames), -1)[:, :1].astype(np.float32)

    def plan(self, observed, target, queries):
        self.batches.append(list(queries))
        stride = np.clip(target - observed, -1, 1)
        return np.repeat(stride[:, None], self.frames, axis=1).astype(np.float32)


def line_rollout(start, goal):
    env = Line(start, goal)
    selector = GoalSelector(np.array([goal], dtype=np.float32))
    return Rollout(env, env.render(), selector, env.is_solved())


def line_graph():
    """Two recordings of the same line, one a quarter further."""
    rows = [np.arange(0, 30.0)[:, None], np.arange(0.25, 40)[:, None]]
    latents = Latents.from_episodes(rows)
    pricing = PricingCurve.fit(latents, waypoint_budget=4)
    return build_graph(latents, find_neighbours(latents), pricing)
