"""Laws of putting latents, actions and their model together."""

import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from macro_makers import make_frozen
from numpy.testing import assert_allclose

from metro.core.latents import Latents
from metro.errors import LatentsError, ModelError
from metro.models.action_stats import ActionStats
from metro.models.macro.macro_data import make_trajectories

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
    made = make_trajectories(latents, corpus, model)
    assert_allclose(made.actions, expected, rtol=1e-5)
    assert np.array_equal(made.z, latents.z)
    assert made.lengths.tolist() == LENGTHS


def test_actions_of_one_number_get_an_axis(latents, corpus, model):
    """A column [N] is taken as [N, 1]."""
    flat = corpus.column("action")[:, 0]
    corpus.column = {"action": flat}.__getitem__
    made = make_trajectories(latents, corpus, SimpleNamespace(digest=model.digest))
    assert made.actions.shape == (7, 1)
    expected = np.nan_to_num((flat - np.nanmean(flat)) / np.nanstd(flat))
    assert_allclose(made.actions[:, 0], expected, rtol=1e-4, atol=1e-5)


def test_trajectories_say_where_they_come_from(latents, corpus, model):
    """Corpus, model and latents are named by their digests."""
    assert make_trajectories(latents, corpus, model).origin == {
        "corpus": {"name": "dots", "digest": corpus.digest},
        "model": {"name": model.name, "digest": model.digest},
        "latents": latents.digest,
    }


def test_latents_of_unknown_origin_are_refused(latents, corpus, model):
    """Latents that do not say what they are of could be of anything."""
    with pytest.raises(LatentsError, match="another model: not recorded"):
        make_trajectories(replace(latents, provenance={}), corpus, model)


def test_episodes_of_other_lengths_are_told(latents, corpus, model):
    """As many frames in other episodes would mix up what follows what."""
    corpus.lengths = np.array([3, 4])
    message = (
        "The latents have 2 episodes with other lengths than the 2 of dots. "
        "Encode it again."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        make_trajectories(latents, corpus, model)
