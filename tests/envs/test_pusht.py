"""The PushT world does what swm's environment does, and draws it faster."""

import numpy as np
import pytest
from world_makers import world_fixture

from metro.benchmark import load_benchmark
from metro.envs import open_env
from metro.envs.make import make_environment
from metro.envs.resize import shrink
from metro.envs.variations import quiet_spaces

world = world_fixture("pusht", image_size=64)

fast_world = world_fixture("pusht", image_size=64, rendering="fast")


def wander(world, seed, steps=15):
    """Return the states of an episode of large random actions."""
    actions = np.random.default_rng(seed).uniform(-1, 1, (steps, 2))
    states = [world.get_state()["state"]]
    for action in actions:
        world.step(action)
        states.append(world.get_state()["state"])
    return np.array(states)


def state_of(**changes):
    state = np.array([100.0, 120.0, 300.0, 300.0, 1.0, 0.0, 0.0])
    names = ["agent_x", "agent_y", "block_x", "block_y", "angle"]
    for name, value in changes.items():
        state[names.index(name)] = value
    return {"state": state}


def test_stock_frames_are_the_environments_own(world):
    """A stock frame is the environment's frame of 224 pixels, shrunk by areas."""
    world.reset(3)
    assert np.array_equal(world.render(), shrink(world.env.render(), (64, 64)))


def test_stock_frames_of_224_pixels_are_not_resized():
    """At 224 pixels nothing is changed."""
    world = open_env(load_benchmark("pusht"))
    world.reset(3)
    assert np.array_equal(world.render(), world.env.render())


def test_fast_frames_are_near_stock_frames(world, fast_world):
    """Fast and stock frames differ by less than 2 grey levels (RMS)."""
    differences = []
    for seed in range(25):
        for each in (world, fast_world):
            each.reset(seed)
        differences.append(world.render().astype(float) - fast_world.render())
    assert np.sqrt(np.mean(np.square(differences))) < 2.0


def test_frames_belong_to_the_caller(fast_world):
    """Drawing again does not change an earlier frame."""
    fast_world.reset(1)
    first = fast_world.render()
    kept = first.copy()
    fast_world.reset(2)
    second = fast_world.render()
    assert np.array_equal(first, kept)
    assert not np.array_equal(first, second)


def test_a_step_is_the_environments_step(world):
    """The same actions as arrays to swm's own environment give the same states."""
    env = make_environment(load_benchmark("pusht"))
    with quiet_spaces():
        env.reset(seed=5)
    world.reset(5)
    for action in np.random.default_rng(0).uniform(-1, 1, (20, 2)):
        observed = env.step(action)[0]["state"]
        world.step(action)
        assert np.array_equal(world.get_state()["state"], observed)


def test_an_episode_depends_on_its_seed_alone(world):
    """What ran before does not matter."""
    world.reset(7)
    alone = wander(world, 7)
    for seed in (1, 2):
        world.reset(seed)
        wander(world, seed)
    world.reset(7)
    assert np.array_equal(wander(world, 7), alone)


def test_a_restored_state_forgets_what_was_before(world):
    """Contacts of an earlier episode do not reach into a restored one."""
    row = state_of(agent_x=285, agent_y=290)
    world.set_state(row)
    alone = wander(world, 3)
    world.reset(8)
    wander(world, 8)
    world.set_state(row)
    assert np.array_equal(wander(world, 3), alone)


def test_restoring_is_what_swm_does(world):
    """A restored state equals that of swm's ``_set_state`` after its reset."""
    env = make_environment(load_benchmark("pusht"))
    with quiet_spaces():
        env.reset(seed=1)
    row = state_of()
    row["state"][5:] = 120, -40
    env._set_state(row["state"])
    world.set_state(row)
    assert np.array_equal(world.get_state()["state"], env._get_obs())
    assert world.get_state()["state"][0] == pytest.approx(100 + 120 * 0.01)


@pytest.mark.parametrize(
    ("changes", "solved"),
    [
        ({}, True),
        ({"agent_x": 119}, True),
        ({"agent_x": 121}, False),
        ({"agent_x": 115, "block_y": 315}, False),
        ({"angle": 1.0 + np.pi / 9 - 0.01}, True),
        ({"angle": 1.0 + np.pi / 9 + 0.01}, False),
        ({"angle": 1.0 + 2 * np.pi}, True),
    ],
)
def test_success_is_20_units_and_20_degrees(world, changes, solved):
    """Agent and block jointly within 20 units, the angle within 20 degrees."""
    world.set_goal(state_of())
    world.set_state(state_of(**changes))
    assert world.is_solved() is solved
    assert world.step(np.zeros(2)) is solved


def test_columns_are_the_released_ones(world):
    """A row has the state of seven numbers and what the agent knows of itself."""
    world.reset(0)
    row = world.get_state()
    assert {name: column.shape for name, column in row.items()} == {
        "state": (7,),
        "proprio": (4,),
    }
    assert np.array_equal(row["proprio"], row["state"][[0, 1, 5, 6]])
