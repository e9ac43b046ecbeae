"""Reacher: swm's physics and success test, drawn stock or fast."""

import subprocess
import sys

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


def test_physics_is_that_of_the_environment(world):
    """The wrapped steps equal those of a plain environment."""
    import gymnasium

    plain = gymnasium.make("swm/ReacherDMControl-v0", task="qpos_match").unwrapped
    plain._mjcf_tempdir.cleanup()
    plain.reset(seed=0)
    for row in play(world, "random", 50):
        np.testing.assert_array_equal(row["qpos"], plain.info["qpos"])
        np.testing.assert_array_equal(row["qvel"], plain.info["qvel"])
        plain.step(row["action"])
    plain._mjcf_tempdir.cleanup()
    plain.close()


def test_what_is_restored_is_observed_and_drawn(world):
    """All columns to the last bit, and the picture too."""
    row = play(world, "mixture", 40)[-1]
    picture = world.render()
    row = world.get_state()
    world.reset(9)
    world.set_state(row)
    for name, value in world.get_state().items():
        np.testing.assert_array_equal(value, row[name], err_msg=name)
    np.testing.assert_array_equal(world.render(), picture)


def test_success_is_that_of_the_environment(world):
    """Replaying recorded torques from a restored state terminates at the goal."""
    rows = play(world, "random", 30)
    world.reset(1)
    world.set_state(rows[0])
    world.set_goal(rows[20])
    assert not world.is_solved()
    met = []
    for row in rows[:29]:
        met.append(world.step(row["action"]))
        close = np.abs(world.get_state()["qpos"] - rows[20]["qpos"]).max() < 0.05
        assert met[-1] == world.is_solved() == close
    assert True in met


def test_the_world_goes_on_after_success(world):
    """dm_control would start a new episode at the next step."""
    rows = play(world, "random", 5)
    world.set_state(rows[3])
    world.set_goal(rows[3])
    world.step(np.zeros(2))
    before = world.get_state()["qpos"]
    world.step(np.zeros(2))
    assert np.abs(world.get_state()["qpos"] - before).max() < 0.2


def test_the_world_goes_on_after_twenty_seconds(world):
    """dm_control's time limit is 500 steps."""
    world.reset(0)
    for _ in range(510):
        before = world.get_state()["qpos"]
        world.step(np.array([0.1, 0.0]))
        assert np.abs(world.get_state()["qpos"] - before).max() < 1.0


def test_a_reset_forgets_the_goal(world):
    """A recording must not end by chance."""
    world.reset(0)
    world.set_goal(world.get_state())
    assert world.is_solved()
    world.reset(0)
    assert not world.is_solved()


def test_the_seed_alone_decides_an_episode(benchmark, world):
    """Whatever the world did before."""
    play(world, "mixture", 30, seed=3)
    used = play(world, "mixture", 30, seed=5)
    fresh = open_env(benchmark, image_size=32, rendering="fast")
    for expected, row in zip(play(fresh, "mixture", 30, seed=5), used, strict=True):
        for name, value in expected.items():
            np.testing.assert_array_equal(row[name], value)
    np.testing.assert_array_equal(fresh.render(), world.render())
    fresh.close()


def test_a_picture_belongs_to_the_caller(world):
    """A camera in constant use must not draw over it."""
    world.reset(0)
    first = world.render()
    kept = first.copy()
    world.set_state({"qpos": np.array([1.0, 1.0]), "qvel": np.zeros(2)})
    assert not np.array_equal(world.render(), first)
    np.testing.assert_array_equal(first, kept)


def test_the_stock_picture_is_that_of_the_environment():
    """In a process of its own: dm_control's drawing suffers no other beside it."""
    program = """
import numpy as np
from metro.benchmark import load_benchmark
from metro.envs import open_env
world = open_env(load_benchmark("reacher"), image_size=64)
rows, expected = [], []
for seed in range(3):
    world.reset(seed)
    rows.append(world.get_state())
    expected.append(world.env.render(64, 64).copy())
for row, picture in zip(rows, expected):
    world.set_state(row)
    assert np.array_equal(world.render(), picture)
print("equal")
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True
    )
    assert ran.stdout == "equal\n", ran.stderr


def test_stock_and_fast_pictures_differ(benchmark):
    """Side by side, without disturbing each other: a model must say what it saw."""
    stock = open_env(benchmark, image_size=64)
    fast = open_env(benchmark, image_size=64, rendering="fast")
    pictures = []
    for world in (stock, fast, stock, fast):
        world.reset(2)
        pictures.append(world.render())
    assert [picture.shape for picture in pictures] == [(64, 64, 3)] * 4
    assert not np.array_equal(pictures[0], pictures[1])
    np.testing.assert_array_equal(pictures[0], pictures[2])
    np.testing.assert_array_equal(pictures[1], pictures[3])
    stock.close()
    fast.close()
