"""What moves the disc while PushT is recorded."""

from types import SimpleNamespace

import numpy as np
import pytest
from world_makers import world_fixture

from metro.data.collect import pusht
from metro.data.collect import pusht_primitives as pushes
from metro.envs.pusht_geometry import distance_to_block

POSE = np.array([256.0, 200.0, 0.0])
"""The T upright: bar from (196, 200) to (316, 230), stem down to y = 320."""


world = world_fixture("pusht", image_size=32, rendering="fast")


def play(world, collector, episode, steps=100):
    """Return the states ``[steps + 1, 7]`` and actions of one episode."""
    rng = np.random.default_rng([0, episode])
    world.reset(int(rng.integers(2**31)))
    collector.begin(world, rng)
    states, actions = [world.get_state()["state"]], []
    for _ in range(steps):
        actions.append(collector.act(world, rng))
        world.step(actions[-1])
        states.append(world.get_state()["state"])
    return np.array(states), np.array(actions)


ALL = [pusht.Weak, pusht.Pusher, pusht.NoisyReplay]


@pytest.mark.parametrize("collector", ALL)
def test_an_episode_depends_on_seed_and_number_alone(world, collector):
    """Episode 5 alone equals episode 5 after 0 to 4, bit for bit."""
    alone = play(world, collector(), 5)
    used = collector()
    for episode in range(5):
        play(world, used, episode, steps=30)
    again = play(world, used, 5)
    assert np.array_equal(alone[0], again[0])
    assert np.array_equal(alone[1], again[1])


@pytest.mark.parametrize("collector", ALL)
def test_actions_are_in_the_box(world, collector):
    """Actions are float32 within [-1, 1]."""
    actions = play(world, collector(), 1)[1]
    assert actions.dtype == np.float32
    assert actions.shape == (100, 2)
    assert np.abs(actions).max() <= 1


def test_weak_is_swms_weak_policy(world):
    """With the same random numbers it does what swm's policy does."""
    from stable_worldmodel.envs.pusht import WeakPolicy

    policy = WeakPolicy(seed=3)
    space = SimpleNamespace(shape=(1, 2))
    inner = SimpleNamespace(unwrapped=world.env)
    spec = SimpleNamespace(id="swm/PushT-v1")
    policy.set_env(SimpleNamespace(envs=[inner], spec=spec, action_space=space))
    rng = np.random.default_rng(3)
    world.reset(4)
    for _ in range(20):
        expected = policy.get_action({})[0]
        action = pusht.Weak().act(world, rng)
        assert np.allclose(action, expected, atol=1e-6)
        world.step(action)


def test_pushes_move_and_turn_the_block(world):
    """In 25 frames the block moves 20 units or turns 20 degrees, four times in five."""
    states = np.array(
        [play(world, pusht.Pusher(), episode)[0] for episode in range(40)]
    )
    before, after = states[:, :-25], states[:, 25:]
    moved = np.linalg.norm(after[..., 2:4] - before[..., 2:4], axis=-1)
    turned = np.abs(np.angle(np.exp(1j * (after[..., 4] - before[..., 4]))))
    turns = turned > np.radians(20)
    assert np.mean((moved > 20) | turns) > 0.8
    assert np.mean(turns) > 0.5


def test_the_disc_stays_busy_and_in_the_window(world):
    """It hardly ever rests, and never leaves the window."""
    states = np.array(
        [play(world, pusht.Pusher(), episode)[0] for episode in range(20)]
    )
    agents = states[..., :2]
    steps = np.linalg.norm(np.diff(agents, axis=1), axis=-1)
    assert np.mean(steps < 2) < 0.1
    assert agents.min() > -15
    assert agents.max() < 527


def test_one_episode_in_eight_is_weak():
    """About 12 % of the pusher's episodes are the weak policy's."""
    pusher = pusht.Pusher()
    drawn = []
    for episode in range(600):
        pusher.begin(None, np.random.default_rng([0, episode]))
        drawn.append(pusher._weak is not None)
    assert 0.08 < np.mean(drawn) < 0.16


def replays(world, demonstration, count, **changed):
    """Return the states ``[count, 101, 7]`` of replays of one demonstration."""
    found = []
    for episode in range(100_000):
        rng = np.random.default_rng([0, episode])
        rng.integers(2**31)  # what `play` resets the world by
        if rng.integers(pusht._DEMONSTRATIONS) == demonstration:
            found.append(play(world, pusht.NoisyReplay(), episode, **changed)[0])
        if len(found) == count:
            return np.array(found)
    raise AssertionError("never drawn")


def test_replays_start_alike_and_part_with_the_block(world):
    """The disc keeps to the demonstration's way; the T ends up elsewhere."""
    states = np.array([replays(world, number, 3) for number in range(4)])
    apart = states - states.mean(axis=1, keepdims=True)
    assert np.array_equal(states[:, 0, 0], states[:, 1, 0])
    assert np.linalg.norm(apart[..., :2], axis=-1).mean() < 10
    block = np.linalg.norm(apart[..., 2:4], axis=-1)
    assert block[:, :, -1].mean() > 2 * block[:, :, 50].mean() > 0


def test_a_replay_without_noise_is_the_demonstration(world, monkeypatch):
    """Noise is all that tells replays apart; and it goes on beyond the end."""
    monkeypatch.setattr(pusht, "_REPLAY_NOISE", 0.0)
    one, other = replays(world, 7, 2, steps=120)
    assert np.array_equal(one[:101], other[:101])
    rng = np.random.default_rng([pusht._DEMONSTRATIONS, 7])
    world.reset(int(rng.integers(2**31)))
    demonstrator, states = pusht.CalmPusher(), []
    demonstrator.begin(world, rng)
    for _ in range(100):
        states.append(world.get_state()["state"])
        world.step(demonstrator.act(world, rng))
    assert np.allclose(states, one[:100], atol=0.5)


def test_the_way_is_straight_if_it_is_free():
    """Nothing between disc and target: head for the target."""
    target = np.array([400.0, 100.0])
    assert np.array_equal(
        pushes.route_around(np.array([100.0, 100.0]), target, POSE), target
    )


def test_the_way_goes_round_the_block():
    """From above to below the bar the next place is at its side, clear of the T."""
    target = np.array([230.0, 300.0])
    waypoint = pushes.route_around(np.array([220.0, 150.0]), target, POSE)
    assert not np.array_equal(waypoint, target)
    assert distance_to_block(waypoint[None], POSE)[0] > 15


@pytest.mark.parametrize(
    ("point", "distance"),
    [((256, 210), 0), ((256, 190), 10), ((319, 196), 5), ((281, 300), 10)],
)
def test_distance_to_the_block(point, distance):
    """Zero inside; else to the nearest point of bar or stem."""
    found = distance_to_block(np.array([point], float), POSE)
    assert found[0] == pytest.approx(distance)


def test_a_push_starts_outside_the_block_and_aims_into_it():
    """The disc stands clear of the T, and a way along the push meets it."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        push = pushes.choose_push(np.array([100.0, 100.0]), POSE, rng)
        start = push.staging_point(POSE)
        way = start + np.linspace(0, 40, 41)[:, None] * push.aim(POSE)
        assert distance_to_block(start[None], POSE)[0] > 5
        assert distance_to_block(way, POSE).min() == 0


def test_a_push_keeps_its_heading_unless_it_follows():
    """Once begun, a push that does not follow the T ignores that it turns."""
    turned = POSE + np.array([0, 0, 1.0])
    for seed in range(6):
        push = pushes.choose_push(POSE[:2] - 100, POSE, np.random.default_rng(seed))
        push.begin(POSE)
        kept = np.allclose(push.aim(turned), push.aim(POSE))
        assert kept is not push.follows


def test_only_long_vectors_are_shortened():
    """`limit_length` keeps the direction and does not lengthen."""
    assert np.array_equal(pushes.limit_length(np.array([0.3, 0.4]), 1.0), [0.3, 0.4])
    assert np.allclose(pushes.limit_length(np.array([3.0, 4.0]), 1.0), [0.6, 0.8])
