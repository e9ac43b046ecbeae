"""Training a reach head on a toy world whose reach is known."""

import numpy as np
import pytest

from metro import find_neighbours
from metro.core.latents import Latents
from metro.errors import ModelError
from metro.models.learned_reach import LearnedReach, load_head
from metro.models.reach_training import CONFIG, PairSampler, train_head

BLOCK, STEPS = 3, 100


def cart(episodes=16, length=60):
    """Actions move the first coordinate; the second is the episode's own."""
    rng = np.random.default_rng(0)
    z = np.empty((episodes, length, 2), dtype=np.float32)
    z[..., 0] = rng.normal(size=(episodes, length)).cumsum(axis=1)
    z[..., 1] = np.arange(episodes)[:, None] - 8
    return Latents(z.reshape(-1, 2), np.arange(0, episodes * length + 1, length))


@pytest.fixture(scope="module")
def world():
    latents = cart()
    return latents, find_neighbours(latents, 16)


@pytest.fixture(scope="module")
def trained(world, tmp_path_factory):
    path = tmp_path_factory.mktemp("head") / "head.safetensors"
    return path, train_head(*world, path, block=BLOCK, steps=STEPS)


def test_pairs_are_what_they_are_called(world):
    """Near within a block, far beyond it, both forward; alike across episodes."""
    latents, table = world
    chosen = np.arange(0, 16, 2)
    pairs = PairSampler(latents, table, chosen, BLOCK, CONFIG).batch(3)
    u, v = np.concatenate([pairs["near"], pairs["far"]]).T
    assert np.array_equal(latents.episode_of(u), latents.episode_of(v))
    assert set(np.diff(pairs["near"])[:, 0]) == {1, 2, 3}
    assert np.diff(pairs["far"]).min() == BLOCK + 1
    u, v = pairs["alike"].T
    assert (latents.episode_of(u) != latents.episode_of(v)).all()
    assert (table.frame[u] == v[:, None]).any(axis=1).all()
    assert np.isin(latents.episode_of(u), chosen).all()


def test_a_head_learns_what_can_be_reached(world, trained):
    """On held-out episodes; along is near, aside is not, though it is no farther."""
    path, log = trained
    assert log["auc_alike"] > 0.9
    assert log["auc_far"] > 0.6
    measure = LearnedReach(load_head(path, world[0]))
    origin = np.zeros((1, 2), dtype=np.float32)
    along, aside = measure(origin, np.array([[[1, 0], [0, 1]]], dtype=np.float32))[0]
    assert along < aside


def test_an_interrupted_training_ends_with_the_same_head(world, trained, tmp_path):
    """Ctrl-C keeps what was done; the same call resumes; the file is the same."""

    def stop(done, total):
        if done == STEPS // 2:
            raise KeyboardInterrupt

    path = tmp_path / "head.safetensors"
    with pytest.raises(KeyboardInterrupt):
        train_head(*world, path, block=BLOCK, steps=STEPS, progress=stop)
    train_head(*world, path, block=BLOCK, steps=STEPS)
    assert path.read_bytes() == trained[0].read_bytes()


def test_episodes_must_be_longer_than_a_block(tmp_path):
    """There would be nothing to tell near pairs from."""
    latents = cart(episodes=6, length=BLOCK + 1)
    table = find_neighbours(latents, 2)
    with pytest.raises(ModelError, match="more than 4 frames"):
        train_head(latents, table, tmp_path / "head.safetensors", block=BLOCK)
