"""A dot that actions move: the small world that other examples share."""

import numpy as np

import metro


def draw(places):
    """Return pictures uint8 [N, 32, 32, 3] of blurred dots at [N, 2] pixels."""
    x, y = (np.square(np.arange(32) - places[:, i : i + 1]) for i in (0, 1))
    light = 255 * np.exp(-(y[:, :, None] + x[:, None, :]) / 8)
    return np.repeat(light.astype(np.uint8)[..., None], 3, axis=3)


def record(folder, episodes=20, length=60):
    """Write a wandering dot as plain arrays; return the open corpus."""
    rng, places, actions = np.random.default_rng(0), [], []
    for _ in range(episodes):
        place, heading = rng.uniform(6, 26, 2), rng.uniform(0, 2 * np.pi)
        for _ in range(length):
            heading += rng.normal(0, 0.3)
            step = 0.5 * np.array([np.cos(heading), np.sin(heading)])
            moved = np.clip(place + step, 4, 28)
            places.append(place)
            actions.append(moved - place)
            place = moved
    folder.mkdir(parents=True)
    np.save(folder / "pixels.npy", draw(np.array(places)))
    np.save(folder / "action.npy", np.array(actions, dtype=np.float32))
    np.save(folder / "ep_len.npy", np.full(episodes, length))
    return metro.open_corpus(folder)


class DotModel:
    """A world model in NumPy: the latent is the dot's position."""

    latent_size, action_size, action_block = 2, 2, 5
    image_size, rendering, digest = 32, "stock", "dot-model-v1"

    def __init__(self, action_stats):
        self.action_stats = action_stats

    def encode(self, frames):
        light = np.asarray(frames)[..., 0].astype(np.float32)
        sums = (light.sum(1), light.sum(2))
        place = [(s * np.arange(32)).sum(1) / light.sum((1, 2)) for s in sums]
        return np.stack(place, axis=1).astype(np.float32)

    def rollout(self, z, actions):
        z, actions = np.asarray(z), np.asarray(actions)
        raw = self.action_stats.denormalise(actions.reshape(*actions.shape[:2], 5, 2))
        return z[:, None] + np.cumsum(raw.sum(2), axis=1)


if __name__ == "__main__":
    print(draw(np.array([[8.0, 20.0]])).shape)
