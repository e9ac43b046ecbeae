"""What moves the arm while Cube is recorded."""

# ruff: noqa: NPY002 - OGBench draws from NumPy's global numbers

import numpy as np
import pytest
from world_makers import world_fixture

from metro.data.collect.cube import (
    OffExpert,
    OffExpertMixture,
    PlannedExpert,
    PlannedMixture,
    ScriptedExpert,
    global_random,
)
from metro.data.collect.cube_primitives import (
    Motion,
    Primitive,
    Wander,
    grasp_primitive,
    push_primitive,
)

world = world_fixture("cube", image_size=32, rendering="fast")


def play(world, collector, episode, steps=60):
    """Return the cube's places ``[steps + 1, 3]`` and the actions of one episode."""
    rng = np.random.default_rng([0, episode])
    world.reset(int(rng.integers(2**31)))
    collector.begin(world, rng)
    places, actions = [world.get_state()["privileged_block_0_pos"]], []
    for _ in range(steps):
        actions.append(collector.act(world, rng))
        world.step(actions[-1])
        places.append(world.get_state()["privileged_block_0_pos"])
    return np.array(places), np.array(actions)


def run(world, primitive, rng):
    """Return the cube's places until an primitive is over, ``[T, 3]``."""
    places = [world.get_state()["privileged_block_0_pos"]]
    while not primitive.is_over:
        world.step(np.clip(primitive.act(world.sense(), rng), -1, 1))
        places.append(world.get_state()["privileged_block_0_pos"])
    return np.array(places)


@pytest.mark.parametrize(
    "collector", [ScriptedExpert, PlannedExpert, OffExpert, OffExpertMixture]
)
def test_an_episode_depends_on_seed_and_number_alone(world, collector):
    """Episode 5 alone equals episode 5 after 3 and 4, whatever NumPy's global state."""
    np.random.seed(1)
    alone = play(world, collector(), 5)
    used = collector()
    for episode in (3, 4):
        play(world, used, episode, steps=10)
    again = play(world, used, 5)
    assert np.array_equal(alone[0], again[0])
    assert np.array_equal(alone[1], again[1])


@pytest.mark.parametrize("collector", [ScriptedExpert, OffExpert])
def test_actions_are_in_the_box(world, collector):
    """Actions are float32 within [-1, 1]."""
    actions = play(world, collector(), 2, steps=30)[1]
    assert actions.dtype == np.float32
    assert actions.shape == (30, 5)
    assert np.abs(actions).max() <= 1


def test_the_expert_carries_the_cube(world):
    """In most pairs of frames 75 apart the cube has moved more than 4 cm."""
    places = np.array([play(world, ScriptedExpert(), e, 150)[0] for e in range(3)])
    moved = np.linalg.norm(places[:, 75:] - places[:, :-75], axis=-1)
    assert np.mean(moved > 0.04) > 0.8
    assert places[..., 2].max() > 0.1


def test_the_expert_gets_a_new_place_after_each_delivery(world):
    """The goal changes within an episode."""
    rng = np.random.default_rng(0)
    world.reset(0)
    expert = ScriptedExpert(noise=0.0)
    expert.begin(world, rng)
    goals = set()
    for _ in range(150):
        goals.add(tuple(world.env.data.mocap_pos[0]))
        world.step(expert.act(world, rng))
    assert len(goals) >= 2


def test_the_planned_expert_keeps_to_one_place(world):
    """As swm's environment does; the cube is carried there, and never dropped."""
    expert, rng = PlannedExpert(), np.random.default_rng(1)
    world.reset(1)
    expert.begin(world, rng)
    aim = world.env.data.mocap_pos[0].copy()
    places = []
    for _ in range(190):
        world.step(expert.act(world, rng))
        places.append(world.sense()["privileged/block_0_pos"].copy())
        assert np.array_equal(world.env.data.mocap_pos[0], aim)
    away = np.linalg.norm(places - aim, axis=1)
    assert away.min() < 0.04 < away[0]
    heights = np.array(places)[:, 2]
    assert heights.max() > 0.08
    assert np.diff(heights).min() > -0.03


def test_swm_gives_the_same_place_again(world):
    """Which is why the planned expert keeps to one."""
    before = world.env.data.mocap_pos.copy()
    world.env.set_new_target(return_info=False)
    drawn = world.env.data.mocap_pos.copy()
    world.env.set_new_target(return_info=False)
    again = world.env.data.mocap_pos.copy()
    world.env.data.mocap_pos[:] = before
    assert np.array_equal(drawn, again)


@pytest.mark.parametrize("collector", [OffExpertMixture, PlannedMixture])
def test_half_of_the_mixture_is_off_expert(world, collector):
    """Who acts is drawn for each episode, evenly."""
    drawn = []
    for episode in range(30):
        mixture = collector()
        world.reset(episode)
        mixture.begin(world, np.random.default_rng(episode))
        drawn.append(isinstance(mixture._policy, OffExpert))
    assert 8 <= sum(drawn) <= 22


def test_some_episodes_begin_with_the_cube_in_the_gripper(world):
    """About a third of the off-expert starts has the cube in the air."""
    heights = [play(world, OffExpert(), episode, 0)[0][0, 2] for episode in range(12)]
    assert 1 <= np.sum(np.array(heights) > 0.05) <= 8


def test_a_grasp_lifts_the_cube_and_a_miss_does_not(world):
    """The cube rises with most grasps; after a miss it stays on the table."""
    lifted = {True: [], False: []}
    for misses in lifted:
        for seed in range(8):
            rng = np.random.default_rng(seed)
            world.reset(seed)
            primitive = grasp_primitive(world.sense(), rng, misses=misses)
            lifted[misses].append(run(world, primitive, rng)[:, 2].max() > 0.05)
    assert np.mean(lifted[False]) > 0.6
    assert np.mean(lifted[True]) < 0.4


def test_a_push_slides_the_cube(world):
    """Closed fingers move the cube along the table in most pushes."""
    moved, highest = [], []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        world.reset(seed)
        places = run(world, push_primitive(world.sense(), rng), rng)
        moved.append(np.linalg.norm(places[-1] - places[0]) > 0.01)
        highest.append(places[:, 2].max())
    assert np.mean(moved) > 0.5
    assert np.median(highest) < 0.04


def test_an_errand_ends_on_time():
    """A leg that cannot be finished ends with its steps."""
    senses = {
        "proprio/effector_pos": np.zeros(3),
        "proprio/effector_yaw": np.zeros(1),
    }
    legs = [
        Motion(np.ones(3), gripper=1.0, steps=3),
        Motion(np.zeros(3), -1.0, steps=9),
    ]
    primitive = Primitive(legs, yaw=0.0, speed=0.5, noise=0.0)
    actions = []
    while not primitive.is_over:
        actions.append(primitive.act(senses, np.random.default_rng(0)))
    assert np.allclose(actions[:3], [0.5, 0.5, 0.5, 0, 1])
    assert np.allclose(actions[3:], [[0, 0, 0, 0, -1]])


def test_wandering_is_pulled_to_the_cube():
    """On average the arm moves towards the cube, and stops in time."""
    senses = {
        "proprio/effector_pos": np.array([0.3, -0.3, 0.3]),
        "privileged/block_0_pos": np.array([0.5, 0.3, 0.02]),
    }
    actions = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        wander = Wander(rng)
        while not wander.is_over:
            actions.append(wander.act(senses, rng))
    mean = np.mean(actions, axis=0)
    assert mean[0] > 0.1
    assert mean[1] > 0.1
    assert mean[2] < -0.1


def test_global_random_numbers_are_borrowed_and_given_back():
    """Inside, NumPy's global numbers follow the generator; outside, nothing changed."""
    np.random.seed(3)
    expected = np.random.random()
    np.random.seed(3)
    inside = []
    for _ in range(2):
        with global_random(np.random.default_rng(0)):
            inside.append(np.random.random())
    assert inside[0] == inside[1]
    assert np.random.random() == expected
