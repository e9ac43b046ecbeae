"""Laws of `metro.data.collect.reacher`."""

import numpy as np
import pytest

from metro.benchmark import load_benchmark
from metro.data.collect.variants import find_variant
from metro.envs import open_env
from metro.envs.rendering import find_renderer


@pytest.fixture(scope="module")
def benchmark():
    """The benchmark as it is in benchmarks/, with a renderer chosen."""
    benchmark = load_benchmark("reacher")
    find_renderer(benchmark)
    return benchmark


@pytest.fixture(scope="module")
def world(benchmark):
    """A small fast world."""
    world = open_env(benchmark, image_size=32, rendering="fast")
    yield world
    world.close()


def play(world, recipe, steps, seed=0):
    """Return the rows of an episode, actions among them."""
    rng = np.random.default_rng(seed)
    collector = find_variant("reacher", recipe).make_policy()
    world.reset(seed)
    collector.begin(world, rng)
    rows = []
    for _ in range(steps):
        action = collector.act(world, rng)
        rows.append(world.get_state() | {"action": action})
        world.step(action)
    return rows


def test_torques_stay_within_their_bounds(world):
    """Of both recipes; the mixture goes farther."""
    spread = {}
    for recipe in ("random", "mixture"):
        rows = [row for seed in range(4) for row in play(world, recipe, 150, seed)]
        actions = np.stack([row["action"] for row in rows])
        assert actions.dtype == np.float32
        assert np.abs(actions).max() <= 1
        poses = np.stack([row["qpos"] for row in rows]).reshape(4, 150, 2)
        spread[recipe] = np.ptp(poses, axis=1).mean()
    assert spread["mixture"] > spread["random"]
