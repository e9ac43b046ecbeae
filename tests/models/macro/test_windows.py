"""Laws of macro training windows."""

from dataclasses import replace

import numpy as np
import pytest
from macro_makers import (
    QUICK,
    make_trajectories,
)
from numpy.testing import assert_array_equal

from metro.models.macro.windows import (
    WINDOW_FRAMES,
    WindowSampler,
    gather,
    sample_waypoints,
)
from metro.models.sequences import sequence_starts, split_starts


@pytest.fixture(scope="module")
def source():
    """Twelve episodes of a linear system, 100 frames each."""
    return make_trajectories()


def test_waypoints_follow_their_law():
    """From row 2 on, spans even over 4 to 15, what is left over spread evenly."""
    rows = sample_waypoints(120_000, np.random.default_rng(0))
    assert rows.shape == (120_000, 5)
    assert (rows[:, 0] == 2).all()
    gaps, spans = np.diff(rows, axis=1), rows[:, -1] - 2
    assert gaps.min() == 1
    counts = np.bincount(spans, minlength=16)
    assert counts[:4].sum() == 0
    np.testing.assert_allclose(counts[4:] / len(rows), 1 / 12, atol=0.004)
    np.testing.assert_allclose(gaps.mean(axis=0), 9.5 / 4, atol=0.03)
    # Of span 6, two rows are dropped into four gaps: both into one with chance 1/4.
    same = (gaps[spans == 6].max(axis=1) == 3).mean()
    assert same == pytest.approx(0.25, abs=0.02)


def test_windows_hold_latents_and_actions_between(source):
    """Chunk i has the blocks from waypoint i up to waypoint i + 1; padding is told."""
    waypoints = np.array([[2, 3, 5, 6, 10]])
    batch = gather(source, np.array([100]), waypoints)
    assert_array_equal(batch.z[0], source.z[100 + 5 * waypoints[0]])
    assert batch.blocks.shape == (1, 4, 4, 10)
    assert_array_equal((~batch.is_padding[0]).sum(axis=1), [1, 2, 1, 4])
    assert_array_equal(batch.blocks[0, 1, 1], source.actions[120:125].ravel())
    assert_array_equal(batch.blocks[0, 3, 3], source.actions[145:150].ravel())
    assert (batch.blocks[batch.is_padding] == 0).all()


def test_windows_stay_in_their_episode():
    """Every start leaves 86 frames of its own episode, and none is missing."""
    lengths = np.array([87, 85, 86])
    assert_array_equal(
        sequence_starts(lengths, np.arange(3), rows=WINDOW_FRAMES), [0, 1, 172]
    )
    assert_array_equal(
        sequence_starts(lengths, np.array([2]), rows=WINDOW_FRAMES), [172]
    )


def test_every_epoch_visits_each_window_once(source):
    """The same step gives the same batch; an epoch is a permutation."""
    starts = np.arange(16)
    sampler = WindowSampler(source, starts, batch_size=8, seed=0)
    assert sampler.steps_per_epoch == 2
    orders = []
    for epoch in range(2):
        sampler.batch(2 * epoch)
        orders.append(sampler._known[1])
    assert_array_equal(np.sort(orders[0]), starts)
    assert (orders[0] != orders[1]).any()
    first = sampler.batch(3).z
    sampler.batch(0)
    assert_array_equal(sampler.batch(3).z, first)


@pytest.mark.parametrize("split", ["episodes", "windows"])
def test_windows_are_held_out(source, split):
    """Training and judged windows are disjoint; by episodes they share no frame."""
    config = replace(QUICK, split=split)
    kept, judged = split_starts(source.lengths, config, rows=WINDOW_FRAMES)
    assert not set(kept) & set(judged)
    assert len(kept) + len(judged) == 12 * 15
    if split == "episodes":
        assert not set(kept // 100) & set(judged // 100)
