"""Build a graph with an encoder of your own, here random projections of the pixels."""

import numpy as np

import metro

WEIGHTS = np.random.default_rng(0).normal(size=(32 * 32 * 3, 16)) / 1000


def encode(frames):
    """Return latents [N, 16] of frames [N, 32, 32, 3]: put your network here."""
    return frames.reshape(len(frames), -1) @ WEIGHTS


def draw_episode(row):
    """Return 40 frames of a square that drifts to the right."""
    frames = np.zeros((40, 32, 32, 3), dtype=np.uint8)
    for step, frame in enumerate(frames):
        frame[row : row + 5, step // 2 : step // 2 + 5] = 255
    return frames


episodes = [encode(draw_episode(3 * number)) for number in range(8)]
graph = metro.FrameGraph.from_latents(metro.Latents.from_episodes(episodes))
print(graph)
