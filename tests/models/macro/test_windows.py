"""Laws of macro training windows."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from macro_makers import (
    QUICK,
    make_frozen,
    make_trajectories,
)
from numpy.testing import assert_allclose, assert_array_equal

from metro.core.latents import Latents
from metro.errors import LatentsError, ModelError
from metro.models.action_stats import ActionStats
from metro.models.macro.windows import (
    WINDOW_FRAMES,
    Trajectories,
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


LENGTHS = [4, 3]


@pytest.fixture(scope="module")
def model():
    model = make_frozen()
    model.action_stats = ActionStats([1.0, -2.0], [2.0, 4.0])
    return model


@pytest.fixture
def corpus():
    actions = np.random.default_rng(0).normal(size=(7, 2))
    actions[[3, 6]] = np.nan
    return SimpleNamespace(
        name="dots",
        digest="c" * 64,
        lengths=np.array(LENGTHS),
        num_episodes=2,
        column={"action": actions}.__getitem__,
    )


@pytest.fixture
def latents(model):
    rng = np.random.default_rng(1)
    made = {"name": model.name, "digest": model.digest}
    return Latents.from_episodes(
        [rng.normal(size=(length, 8)) for length in LENGTHS],
        provenance={"corpus": {"name": "dots", "digest": "c" * 64}, "model": made},
    )


def test_actions_are_normalised_as_the_model_knows_them(latents, corpus, model):
    """Minus the mean, over the deviation; where none was recorded stands 0."""
    expected = (corpus.column("action") - [1, -2]) / [2, 4]
    expected[[3, 6]] = 0
    made = Trajectories.of(latents, corpus, model)
    assert_allclose(made.actions, expected, rtol=1e-5)
    assert np.array_equal(made.z, latents.z)
    assert made.lengths.tolist() == LENGTHS


def test_actions_of_one_number_get_an_axis(latents, corpus, model):
    """A column [N] is taken as [N, 1]."""
    flat = corpus.column("action")[:, 0]
    corpus.column = {"action": flat}.__getitem__
    made = Trajectories.of(latents, corpus, SimpleNamespace(digest=model.digest))
    assert made.actions.shape == (7, 1)
    expected = np.nan_to_num((flat - np.nanmean(flat)) / np.nanstd(flat))
    assert_allclose(made.actions[:, 0], expected, rtol=1e-4, atol=1e-5)


def test_trajectories_say_where_they_come_from(latents, corpus, model):
    """Corpus, model and latents are named by their digests."""
    assert Trajectories.of(latents, corpus, model).origin == {
        "corpus": {"name": "dots", "digest": corpus.digest},
        "model": {"name": model.name, "digest": model.digest},
        "latents": latents.digest,
    }


def test_latents_of_unknown_origin_are_refused(latents, corpus, model):
    """Latents that do not say what they are of could be of anything."""
    with pytest.raises(LatentsError, match="another model: not recorded"):
        Trajectories.of(replace(latents, provenance={}), corpus, model)


def test_episodes_of_other_lengths_are_told(latents, corpus, model):
    """As many frames in other episodes would mix up what follows what."""
    corpus.lengths = np.array([3, 4])
    message = (
        "The latents have 2 episodes with other lengths than the 2 of dots. "
        "Encode it again."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        Trajectories.of(latents, corpus, model)
