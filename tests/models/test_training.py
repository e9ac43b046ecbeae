"""Laws of training: clips, settings, resuming, and that something is learned."""

import re
from dataclasses import replace

import numpy as np
import pytest
import torch
from model_makers import QUICK, TINY, make_footage, make_model, train
from numpy.testing import assert_allclose, assert_array_equal

from metro.errors import ModelError
from metro.models import training
from metro.models.action_stats import ActionStats
from metro.models.probes import prediction_errors
from metro.models.sequences import (
    split_episodes,
)


@pytest.fixture(scope="module")
def dataset():
    """Twelve episodes of a dot that its actions move."""
    return make_footage()


@pytest.fixture(autouse=True)
def few_checks(monkeypatch):
    """Measure models on the way twice only."""
    monkeypatch.setattr(training, "CHECKS", 2)


def test_a_linear_system_is_learned(tmp_path):
    """A tiny model predicts a moving dot better than copying, and knows its place."""
    dataset = make_footage(120, 30)
    config = replace(QUICK, steps=250, batch_size=64, learning_rate=5e-3)
    result = train(dataset, tmp_path / "dots.safetensors", config)
    _, held_out = split_episodes(120, config.held_out, config.seed)
    for error in prediction_errors(result.model, dataset, held_out):
        assert error["prediction"] < 0.5 * error["copy"], error
    assert min(result.log[-1]["probe"].values()) > 0.7


def test_fine_tuning_starts_from_the_given_weights(dataset, tmp_path):
    """With a rate of 0 the weights are those of ``init``, and its scaling is kept."""
    init = make_model(action_stats=ActionStats([0.1, 0.1], [2.0, 2.0]))
    config = replace(QUICK, learning_rate=0.0, steps=1)
    result = train(dataset, tmp_path / "tuned.safetensors", config, init=init)
    for name, tensor in init.network.named_parameters():
        assert torch.equal(result.model.network.get_parameter(name), tensor), name
    assert_allclose(result.model.action_stats.std, [2.0, 2.0])
    assert result.model.notes["init"] == init.digest


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"image_size": 32},
            "The corpus has frames of 16 px, the network takes 32 px. "
            "Record with --image-size 32.",
        ),
        (
            {"action_size": 25},
            "The corpus has action blocks of 10 numbers, the network takes 25. "
            "It is for another benchmark.",
        ),
    ],
)
def test_footage_that_does_not_fit_is_told(dataset, tmp_path, change, message):
    """Frames or actions of another size are refused with both sizes."""
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        train(dataset, tmp_path / "x", sizes=replace(TINY, **change))


def test_too_little_footage_is_told(tmp_path):
    """Fewer clips than one batch is an error, not an endless epoch."""
    message = (
        "Training needs at least one batch of 16 sequences of 20 rows; the corpus has "
        "11. Record more or longer episodes."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        train(make_footage(2), tmp_path / "model.safetensors")


def test_the_predictor_alone_leaves_latents_as_they_are(dataset, tmp_path):
    """Bit for bit the same encoder, batch norm too; a better prediction."""
    first = train(dataset, tmp_path / "a.safetensors").model
    config = replace(QUICK, train_only="predictor", steps=60, seed=1)
    second = train(dataset, tmp_path / "b.safetensors", config, init=first).model
    frames = dataset.pixels[:50]
    assert_array_equal(first.encode(frames), second.encode(frames))
    held_out = np.arange(len(dataset.lengths))
    before, after = (prediction_errors(m, dataset, held_out) for m in (first, second))
    assert after[0]["prediction"] < before[0]["prediction"]


def test_the_predictor_alone_needs_an_encoder(dataset, tmp_path):
    """There is nothing to keep otherwise."""
    told = (
        "train_only='predictor' keeps an encoder: give the model that has it as init."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(told)}$"):
        train(
            dataset, tmp_path / "a.safetensors", replace(QUICK, train_only="predictor")
        )


def test_the_predictor_learns_its_own_rollouts(dataset, tmp_path):
    """Blocks each from the last; latents and batch norm stay as they are."""
    first = train(dataset, tmp_path / "a.safetensors").model
    config = replace(QUICK, train_only="predictor", rollout_blocks=3, steps=60, seed=1)
    second = train(dataset, tmp_path / "b.safetensors", config, init=first).model
    frames = dataset.pixels[:50]
    assert_array_equal(first.encode(frames), second.encode(frames))
    norm = "pred_proj.net.1.running_mean"
    weights = [model.network.state_dict()[norm] for model in (first, second)]
    assert_array_equal(*weights)
    held_out = np.arange(len(dataset.lengths))
    before, after = (prediction_errors(m, dataset, held_out) for m in (first, second))
    assert after[2]["prediction"] < before[2]["prediction"]
