"""Laws of `metro.data.collect.tworoom`."""

import numpy as np
import pytest

from metro.benchmark import load_benchmark
from metro.data.collect.variants import find_variant
from metro.envs import open_env


@pytest.fixture(scope="module")
def benchmark():
    """The benchmark as it is in benchmarks/."""
    return load_benchmark("tworoom")


@pytest.fixture(scope="module")
def world(benchmark):
    """A world at the environment's own size."""
    world = open_env(benchmark)
    yield world
    world.close()


def test_crossings_end_in_the_other_room(world):
    """At least 25 steps away at full speed."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        world.reset(seed)
        find_variant("tworoom", "crossing").make_policy().begin(world, rng)
        agent, target = world.env.agent_position, world.env.target_position
        assert (agent[0] < 112) != (target[0] < 112)
        assert float((agent - target).norm()) < 25 * 5 * 3
