"""TwoRoom: the same as swm's environment, step by step and pixel by pixel."""

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


@pytest.mark.parametrize("image_size", [224, 100, 64, 48, 33, 32])
def test_pictures_are_those_of_the_environment(benchmark, image_size):
    """Bit for bit, though only the surroundings of the agent are computed."""
    import cv2

    world = open_env(benchmark, image_size=image_size)
    rng = np.random.default_rng(0)
    for _ in range(40):
        world.reset(int(rng.integers(2**31)))
        world.step(rng.normal(size=2))
        expected = world.env.render()
        if image_size != 224:
            size = (image_size, image_size)
            expected = cv2.resize(expected, size, interpolation=cv2.INTER_AREA)
        np.testing.assert_array_equal(world.render(), expected)


def test_pictures_in_the_corners_are_those_of_the_environment(world):
    """Where the window around the agent is cut off."""
    for place in ([21, 21], [203, 21], [21, 203], [203, 203], [0, 0], [223, 223]):
        world.set_state({"proprio": np.array(place)})
        np.testing.assert_array_equal(world.render(), world.env.render())


def test_a_picture_belongs_to_the_caller(world):
    """The next one does not change it."""
    world.reset(0)
    first = world.render()
    kept = first.copy()
    world.set_state({"proprio": np.array([60.0, 60.0])})
    assert not np.array_equal(world.render(), first)
    np.testing.assert_array_equal(first, kept)


def test_what_is_restored_is_observed(world):
    """Under every name of the released corpus, and drawn alike."""
    world.reset(3)
    world.step(np.array([0.3, -0.7]))
    row, picture = world.get_state(), world.render()
    world.reset(4)
    world.set_state(row)
    assert set(row) == {"proprio", "pos_agent", "state"}
    for name, place in world.get_state().items():
        np.testing.assert_array_equal(place, row[name])
    np.testing.assert_array_equal(world.render(), picture)


def test_success_is_the_environment_s_own(world):
    """At every step of a noisy walk to the target."""
    rng = np.random.default_rng(1)
    seen = set()
    for seed in range(6):
        world.reset(seed)
        expert = find_variant("tworoom", "expert").make_policy()
        expert.begin(world, rng)
        for _ in range(80):
            met = world.step(expert.act(world, rng))
            gap = world.env.agent_position - world.env.target_position
            assert met == world.is_solved() == (float(gap.norm()) < 16)
            seen.add(met)
    assert seen == {True, False}


def test_aiming_moves_the_target(world):
    """And is the only thing that does, until the next reset."""
    world.reset(5)
    row = world.get_state()
    world.set_goal(row)
    assert world.is_solved()
    world.set_state({"proprio": row["proprio"] + 60})
    assert not world.is_solved()


def test_the_seed_alone_decides_an_episode(benchmark):
    """Whatever the world did before."""
    fresh, used = open_env(benchmark), open_env(benchmark)
    used.reset(1)
    used.step(np.ones(2))
    for world in (fresh, used):
        world.reset(7)
        world.step(np.array([0.5, 0.1]))
    for name, place in fresh.get_state().items():
        np.testing.assert_array_equal(used.get_state()[name], place)
    assert fresh.env.target_position.tolist() == used.env.target_position.tolist()
