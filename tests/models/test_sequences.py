"""Laws of training sequences: what they hold, and which are held out."""

import re

import numpy as np
import pytest
from model_makers import make_footage
from numpy.testing import assert_allclose, assert_array_equal

from metro.errors import ModelError
from metro.models.action_stats import ActionStats
from metro.models.sequences import (
    SequenceSampler,
    TrajectoryDataset,
    sequence_starts,
    split_episodes,
)


@pytest.fixture(scope="module")
def dataset():
    """Twelve episodes of a dot that its actions move."""
    return make_footage()


def test_clips_are_frames_five_apart_and_all_actions(dataset):
    """A clip has frames 0, 5, 10, 15 and, for each, the five actions that leave it."""
    stats = ActionStats.of(dataset.actions)
    starts = np.array([3, 40])
    sampler = SequenceSampler(dataset, starts, action_stats=stats, batch_size=2, seed=0)
    batch = sampler.gather(starts)
    assert_array_equal(batch.pixels[1], dataset.pixels[8])
    assert_array_equal(batch.pixels[7], dataset.pixels[55])
    expected = (dataset.actions[13:18] - stats.mean) / stats.std
    assert_allclose(batch.blocks[0, 2], expected.ravel(), rtol=1e-6)
    assert batch.states.shape == (2, 4, 2)


def test_clips_stay_in_their_episode():
    """Every start leaves twenty rows of its own episode, and none is missing."""
    lengths = np.array([25, 19, 20])
    starts = sequence_starts(lengths, np.array([0, 1, 2]))
    assert_array_equal(starts, [0, 1, 2, 3, 4, 5, 44])
    assert_array_equal(sequence_starts(lengths, np.array([2])), [44])


def test_every_epoch_visits_each_clip_once(dataset):
    """A shuffled epoch is a permutation, another epoch another one."""
    starts = np.arange(8)
    stats = ActionStats.of(dataset.actions)
    sampler = SequenceSampler(dataset, starts, action_stats=stats, batch_size=4, seed=0)
    orders = [
        np.concatenate([sampler.starts_at(2 * epoch + part) for part in range(2)])
        for epoch in range(2)
    ]
    assert_array_equal(np.sort(orders[0]), starts)
    assert_array_equal(np.sort(orders[1]), starts)
    assert (orders[0] != orders[1]).any()


def test_episodes_are_held_out_whole():
    """The split is by episodes, complete, disjoint and decided by the seed."""
    kept, held_out = split_episodes(50, 0.1, 3)
    assert len(held_out) == 5
    assert_array_equal(np.sort(np.concatenate([kept, held_out])), np.arange(50))
    assert_array_equal(split_episodes(50, 0.1, 3)[1], held_out)
    assert (split_episodes(50, 0.1, 4)[1] != held_out).any()


def test_arrays_of_different_length_are_told(dataset):
    """Rows of all arrays must agree."""
    message = (
        "All arrays must have the same rows, got pixels 360, actions 359, lengths 360."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        TrajectoryDataset(dataset.pixels, dataset.actions[:-1], dataset.lengths)
