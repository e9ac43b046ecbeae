"""Corpora with known neighbour tables."""

import numpy as np

import metro
from metro.core.neighbours import BruteForceIndex
from perf.synthetic import make_latents

LENGTH = 50


def latents_of(z):
    return metro.Latents(z, np.arange(0, len(z) + 1, LENGTH))


def corpora():
    rng = np.random.default_rng(0)
    walk = np.cumsum(rng.standard_normal((3000, 37)), axis=0)
    outliers = 100 * rng.standard_normal((100, 64))
    cluster = 1e-3 * rng.standard_normal((2900, 64))
    return {
        "two rooms": make_latents(3000, state_dim=2, episode_length=LENGTH).z,
        "pushing": make_latents(3000, state_dim=5, episode_length=LENGTH).z,
        "pushing, noisy": make_latents(3000, episode_length=LENGTH, noise=0.2).z,
        "many joints": make_latents(3000, state_dim=11, episode_length=LENGTH).z,
        "isotropic noise": rng.standard_normal((3000, 192)),
        "lattice, full of ties": rng.integers(0, 6, (3000, 3)),
        "odd dimension": 0.1 * walk,
        "one dimension": rng.standard_normal((3000, 1)),
        "duplicates": np.repeat(rng.standard_normal((600, 24)), 5, axis=0),
        "all alike": np.ones((2500, 16)),
        "one giant cluster": np.concatenate([cluster, outliers]),
        "far from the origin": 1e4 + rng.standard_normal((3000, 16)),
    }


def brute_table(latents, num_neighbours):
    episodes = latents.episode_of(np.arange(latents.num_frames))
    return BruteForceIndex(latents).nearest(latents.z, num_neighbours, episodes)


def same(found, expected):
    return all(
        np.array_equal(one, other) for one, other in zip(found, expected, strict=True)
    )
