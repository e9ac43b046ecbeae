"""Seeded latents that look like a world model's: thin, coherent, near-isotropic.

Low-dimensional trajectories pass through a fixed random network and are whitened. For
benchmarks and the demo where no real corpus is at hand; not a model of any benchmark.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from metro.core.latents import Latents
from metro.errors import LatentsError

States = NDArray[np.float64]

_HIDDEN = 256
_BLOCK = 65_536
_SAMPLE = 100_000

_WHITENESS = 0.85
"""How far principal components are evened out; 1: isotropic. With 0.85 the 5-d latents
saturate like the paper's PushT (0.29, 0.52, 0.98, 1.0 at 5, 10, 50, 75 frames)."""


def make_latents(
    num_frames: int,
    *,
    state_dim: int = 5,
    episode_length: int = 120,
    dim: int = 192,
    noise: float = 0.0,
    seed: int = 0,
) -> Latents:
    """Return ``num_frames`` latents of synthetic episodes.

    Args:
        num_frames: N; the last episode is cut to fit.
        state_dim: Intrinsic dimension: 2 (two rooms and a door), or at least 5 (a hand
            that pushes and turns a block, and further joints).
        episode_length: Frames of an episode.
        dim: D, the size of a latent.
        noise: Standard deviation of white noise on every latent coordinate.
        seed: Of the trajectories, the network and the noise.
    """
    states = make_states(
        -(-num_frames // episode_length),
        episode_length,
        state_dim=state_dim,
        seed=seed,
    )
    features = states.reshape(-1, states.shape[2])[:num_frames]
    z = _embed(features, dim, np.random.default_rng([seed, 1]))
    if noise > 0:
        rng = np.random.default_rng([seed, 2])
        for start in range(0, len(z), _BLOCK):
            part = z[start : start + _BLOCK]
            part += noise * rng.standard_normal(part.shape, dtype=np.float32)
    offsets = np.append(np.arange(0, num_frames, episode_length), num_frames)
    name = f"synthetic state_dim={state_dim} noise={noise} seed={seed}"
    return Latents(z, offsets, {"corpus": name, "encoder": "random network"})


def make_states(
    num_episodes: int, episode_length: int, *, state_dim: int = 5, seed: int = 0
) -> States:
    """Return ``[M, L, F]`` state features of synthetic episodes, all within [-1, 1].

    With ``state_dim`` 2 the features are the position itself.
    """
    rng = np.random.default_rng([seed, 0])
    if state_dim == 2:
        return _two_rooms(num_episodes, episode_length, rng)
    if state_dim < 5:
        raise LatentsError(f"state_dim must be 2 or at least 5, got {state_dim}.")
    pushing = _pushing(num_episodes, episode_length, rng)
    joints = [
        _wandering(num_episodes, episode_length, 1, rng) for _ in range(state_dim - 5)
    ]
    return np.concatenate([pushing, *joints], axis=2)


def _two_rooms(num_episodes: int, length: int, rng: np.random.Generator) -> States:
    """Walk between random places of two rooms, split at x = 0, a door around y = 0."""
    place, aim = _in_a_room(num_episodes, rng), _in_a_room(num_episodes, rng)
    speed = rng.uniform(0.02, 0.04, (num_episodes, 1))
    states = np.empty((num_episodes, length, 2))
    for step in range(length):
        states[:, step] = place
        side = np.sign(aim[:, 0])
        must_cross = np.sign(place[:, 0]) != side
        before_door = must_cross & (np.abs(place[:, 1]) > 0.1)
        door = np.where(before_door, -0.12, 0.12) * side
        doorway = np.stack([door, np.zeros(num_episodes)], axis=1)
        heading = np.where(must_cross[:, None], doorway, aim) - place
        left = np.linalg.norm(heading, axis=1, keepdims=True)
        arrived = (left[:, 0] < 0.05) & ~must_cross
        aim[arrived] = _in_a_room(int(arrived.sum()), rng)
        stride = speed * heading / np.maximum(left, 1e-6)
        jitter = 0.006 * rng.standard_normal((num_episodes, 2))
        place = np.clip(place + stride + jitter, -1, 1)
    return states


def _in_a_room(count: int, rng: np.random.Generator) -> States:
    """Return ``[count, 2]`` random places that keep clear of the wall."""
    x = rng.uniform(0.1, 1, count) * rng.choice([-1, 1], count)
    return np.stack([x, rng.uniform(-1, 1, count)], axis=1)


def _pushing(num_episodes: int, length: int, rng: np.random.Generator) -> States:
    """Move a hand around a block; on contact the block shifts and turns.

    Features: hand x, y, block x, y, and the cosine and sine of its angle.
    """
    hand = rng.uniform(-1, 1, (num_episodes, 2))
    block = rng.uniform(-0.7, 0.7, (num_episodes, 2))
    angle = rng.uniform(-np.pi, np.pi, num_episodes)
    aim = np.clip(block + rng.uniform(-0.5, 0.5, (num_episodes, 2)), -1, 1)
    speed = rng.uniform(0.02, 0.045, (num_episodes, 1))
    states = np.empty((num_episodes, length, 6))
    for step in range(length):
        turned = 0.6 * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        states[:, step] = np.concatenate([hand, block, turned], axis=1)
        heading = aim - hand
        left = np.linalg.norm(heading, axis=1, keepdims=True)
        jitter = 0.005 * rng.standard_normal((num_episodes, 2))
        moved = np.clip(hand + speed * heading / np.maximum(left, 1e-6) + jitter, -1, 1)
        push, hand = moved - hand, moved
        lever = block - hand
        touches = np.linalg.norm(lever, axis=1) < 0.25
        block = np.where(touches[:, None], np.clip(block + 0.7 * push, -1, 1), block)
        torque = lever[:, 0] * push[:, 1] - lever[:, 1] * push[:, 0]
        angle = angle + np.where(touches, 10 * torque, 0)
        arrived = left[:, 0] < 0.06
        again = block[arrived] + rng.uniform(-0.5, 0.5, (int(arrived.sum()), 2))
        aim[arrived] = np.clip(again, -1, 1)
    return states


def _wandering(
    num_episodes: int, length: int, dims: int, rng: np.random.Generator
) -> States:
    """Move a joint from one random angle to the next, at a speed of its own."""
    place = rng.uniform(-1, 1, (num_episodes, dims))
    aim = rng.uniform(-1, 1, (num_episodes, dims))
    speed = rng.uniform(0.01, 0.03, (num_episodes, 1))
    states = np.empty((num_episodes, length, dims))
    for step in range(length):
        states[:, step] = place
        heading = aim - place
        left = np.linalg.norm(heading, axis=1, keepdims=True)
        place = place + np.minimum(speed, left) * heading / np.maximum(left, 1e-6)
        arrived = left[:, 0] < 0.03
        aim[arrived] = rng.uniform(-1, 1, (int(arrived.sum()), dims))
    return states


def _embed(features: States, dim: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """Return whitened latents of a random network with two hidden layers."""
    sample = features[:_SAMPLE]
    centre, spread = sample.mean(axis=0), sample.std(axis=0) + 1e-9
    network = _random_network(features.shape[1], dim, rng)
    z = np.empty((len(features), dim), dtype=np.float32)
    for start in range(0, len(z), _BLOCK):
        part = slice(start, start + _BLOCK)
        inputs = 0.58 * (features[part] - centre) / spread
        z[part] = network(inputs.astype(np.float32))
    return _whiten(z)


def _random_network(
    num_inputs: int, num_outputs: int, rng: np.random.Generator
) -> Callable[[NDArray[np.float32]], NDArray[np.float32]]:
    def layer(width: int, into: int, gain: float) -> NDArray[np.float32]:
        return rng.normal(0, gain / np.sqrt(width), (width, into)).astype(np.float32)

    first, second = layer(num_inputs, _HIDDEN, 3.0), layer(_HIDDEN, _HIDDEN, 1.6)
    last = layer(_HIDDEN, num_outputs, 1.0)
    shift = rng.normal(0, 0.5, _HIDDEN).astype(np.float32)

    def network(inputs: NDArray[np.float32]) -> NDArray[np.float32]:
        hidden = np.tanh(inputs @ first + shift)
        return np.asarray(np.tanh(hidden @ second - shift) @ last)

    return network


def _whiten(z: NDArray[np.float32]) -> NDArray[np.float32]:
    """Make the latents nearly isotropic, in place and block by block."""
    sample = z[:: max(1, len(z) // _SAMPLE)].astype(np.float64)
    centre = sample.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(sample.T))
    values = np.maximum(values, 1e-5 * values[-1])  # do not blow up rounding noise
    turn = (vectors * values ** (-_WHITENESS / 2)) @ vectors.T
    turn /= ((sample - centre) @ turn).std(axis=0)
    for start in range(0, len(z), _BLOCK):
        part = z[start : start + _BLOCK]
        part[...] = (part - centre.astype(np.float32)) @ turn.astype(np.float32)
    return z
