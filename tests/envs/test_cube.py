"""The Cube world does what swm's environment does, without its waits."""

import numpy as np
import pytest
from world_makers import world_fixture

from metro.benchmark import load_benchmark
from metro.envs import open_env

world = world_fixture("cube", image_size=32, rendering="fast")


def play(world, seed, steps=12):
    """Return ``qpos`` and ``qvel`` after each of some random actions, ``[T, 41]``."""
    states = []
    for action in np.random.default_rng(seed).uniform(-1, 1, (steps, 5)):
        world.step(action)
        row = world.get_state()
        states.append(np.concatenate([row["qpos"], row["qvel"]]))
    return np.array(states)


def test_a_step_is_the_environments_step(world):
    """The environment's own ``step`` gives the same states, bit for bit."""
    world.reset(5)
    ours = play(world, 0)
    world.reset(5)
    theirs = []
    for action in np.random.default_rng(0).uniform(-1, 1, (12, 5)):
        world.env.step(action)
        row = world.get_state()
        theirs.append(np.concatenate([row["qpos"], row["qvel"]]))
    assert np.array_equal(ours, theirs)


def test_an_episode_depends_on_its_seed_alone(world):
    """What ran before does not matter: warm starts and controls are forgotten."""
    world.reset(7)
    alone = play(world, 7)
    world.reset(1)
    play(world, 1, steps=30)
    world.reset(7)
    assert np.array_equal(play(world, 7), alone)


def test_a_reset_does_not_compile_the_model_again(world):
    """The model is the same object after a reset, and still the environment's."""
    before = world.env.model
    world.reset(3)
    assert world.env.model is before


def test_starts_vary(world):
    """Seeds put the cube at different places of the table."""
    places = []
    for seed in range(5):
        world.reset(seed)
        places.append(world.get_state()["privileged_block_0_pos"])
    assert np.ptp(places, axis=0)[:2].min() > 0.02
    assert np.allclose(np.array(places)[:, 2], 0.02)


def test_a_restored_state_forgets_what_was_before(world):
    """The same row and actions give the same states after any other episode."""
    world.reset(2)
    play(world, 2, steps=20)
    row = world.get_state()
    world.set_state(row)
    alone = play(world, 3)
    world.reset(9)
    play(world, 9, steps=20)
    world.set_state(row)
    assert np.array_equal(world.get_state()["qpos"], row["qpos"])
    assert np.array_equal(play(world, 3), alone)


@pytest.mark.parametrize(
    ("offset", "solved"), [(0.0, True), (0.039, True), (0.041, False)]
)
def test_success_is_4_centimetres(world, offset, solved):
    """The goal is met within 4 cm of the cube's centre, whatever the arm does."""
    world.reset(0)
    row = world.get_state()
    goal = row | {
        "privileged_block_0_pos": row["privileged_block_0_pos"] + [offset, 0, 0]
    }
    world.set_goal(goal)
    assert world.is_solved() is solved
    assert world.step(np.zeros(5)) is solved


def test_the_goal_survives_a_restore(world):
    """Aim and restore may come in either order."""
    world.reset(0)
    row = world.get_state()
    far = row | {"privileged_block_0_pos": row["privileged_block_0_pos"] + [0.1, 0, 0]}
    world.set_goal(far)
    world.set_state(row)
    assert not world.is_solved()
    world.set_goal(row)
    assert world.is_solved()


def test_columns_are_the_released_ones(world):
    """A row has the released columns, with underscores for slashes."""
    world.reset(0)
    row = world.get_state()
    shapes = {name: column.shape for name, column in row.items()}
    assert shapes["qpos"] == (21,)
    assert shapes["qvel"] == (20,)
    assert shapes["observation"] == (28,)
    assert shapes["privileged_block_0_pos"] == (3,)
    assert shapes["privileged_block_0_quat"] == (4,)
    assert not any("/" in name for name in row)


def test_rows_belong_to_the_caller(world):
    """A row does not change when the world moves on."""
    world.reset(0)
    row = world.get_state()
    kept = {name: column.copy() for name, column in row.items()}
    play(world, 0, steps=3)
    assert all(np.array_equal(row[name], kept[name]) for name in row)


def test_fast_frames_are_a_function_of_the_positions(world):
    """After a restore the frame is the one recorded, pixel for pixel."""
    world.reset(4)
    play(world, 4)
    row, frame = world.get_state(), world.render()
    assert frame.shape == (32, 32, 3)
    world.reset(5)
    assert not np.array_equal(world.render(), frame)
    world.set_state(row)
    assert np.array_equal(world.render(), frame)


def test_stock_frames_are_the_environments_own(world):
    """Drawn with shadows and all; the fast ones show the same scene without."""
    stock = open_env(load_benchmark("cube"), image_size=32)
    for each in (stock, world):
        each.reset(6)
    frame = stock.render()
    assert np.array_equal(frame, stock.env.render(camera="front_pixels"))
    assert np.corrcoef(frame.ravel(), world.render().ravel())[0, 1] > 0.85
    stock.close()
