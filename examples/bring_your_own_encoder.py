"""Wrap a model of your own: a class with `encode`, `rollout` and six attributes.

Here the "network" is a fixed random projection of the pixels and a rollout that stays
where it is; put your own two calls in their place. Needs the extra "swm".
"""

import hashlib
import tempfile
from pathlib import Path

import numpy as np

import metro
from metro.data.corpus import open_corpus
from metro.data.encode import encode_corpus


class MyModel:
    """Sixteen random projections of a 32-pixel frame."""

    name = "random-projection"
    latent_size, action_size, action_block = 16, 2, 5
    image_size, rendering = 32, "stock"

    def __init__(self) -> None:
        rng = np.random.default_rng(0)
        self._weights = rng.normal(size=(32 * 32 * 3, 16)).astype(np.float32) / 1000
        self.digest = hashlib.sha256(self._weights.tobytes()).hexdigest()

    def encode(self, frames):  # uint8 [N, 32, 32, 3] -> float32 [N, 16]
        """Return the latents of frames."""
        return frames.reshape(len(frames), -1).astype(np.float32) @ self._weights

    def rollout(self, z, actions):  # [B, 16], [B, T, 5 * 2] -> [B, T, 16]
        """Return the latents after every action block."""
        return np.repeat(z[:, None], actions.shape[1], axis=1)


def record(folder: Path) -> None:
    """Write eight episodes of a drifting square as plain arrays."""
    pixels = np.zeros((8 * 40, 32, 32, 3), dtype=np.uint8)
    for row, frame in enumerate(pixels):
        x, y = (row % 40) // 2, 3 * (row // 40)
        frame[y : y + 5, x : x + 5] = 255
    folder.mkdir()
    np.save(folder / "pixels.npy", pixels)
    np.save(folder / "action.npy", np.zeros((len(pixels), 2), dtype=np.float32))
    np.save(folder / "ep_len.npy", np.full(8, 40))


with tempfile.TemporaryDirectory() as place:
    record(Path(place) / "squares")
    with open_corpus(Path(place) / "squares") as corpus:
        encoding = encode_corpus(corpus, MyModel(), Path(place) / "squares.latents")
    latents = encoding.latents
    pricing = metro.PricingCurve.fit(latents, waypoint_budget=8)
    graph = metro.build_graph(latents, metro.find_neighbours(latents), pricing)
    print(latents, graph, sep="\n")
