"""Laws of the training settings."""

import re

import numpy as np
import pytest

from metro.errors import ModelError
from metro.models.train_config import (
    MacroTrainConfig,
    TrainConfig,
    macro_config_for,
    model_name,
    paper_config,
)


def test_the_rate_rises_and_falls():
    """Linear warm-up to the peak, cosine to nearly 0 at the last step."""
    config = TrainConfig(steps=1000, warmup=0.01, learning_rate=2.0)
    rates = [config.rate_at(step, 1000) for step in range(1000)]
    assert rates[:10] == pytest.approx(np.arange(1, 11) * 0.2)
    assert rates[10] == 2.0
    assert np.all(np.diff(rates[10:]) < 0)
    assert rates[-1] < 1e-4


def test_heads_stop_after_their_warm_up():
    """``warmup`` weighs a head for its share of the steps only."""
    config = TrainConfig(steps=10, state_head="warmup", head_share=0.3, head_weight=2.0)
    weights = [config.auxiliary_weights_at(step) for step in range(5)]
    assert weights == [{"state": 2.0}] * 3 + [{}] * 2
    assert TrainConfig().auxiliary_weights_at(0) == {}
    config = TrainConfig(pixel_head="throughout")
    assert config.auxiliary_weights_at(1999) == {"pixels": 1.0}


def test_names_tell_the_heads():
    """A model whose training had more than the published loss is called so."""
    assert model_name("pusht", "small", TrainConfig()) == "lewm-small-pusht"
    config = TrainConfig(family="pldm", state_head="throughout")
    assert model_name("pusht", "small", config) == "pldm-small-state-pusht"
    config = TrainConfig(pixel_head="warmup")
    assert model_name(None, "small", config) == "lewm-small-pixels-warmup-own"


def test_the_paper_recipe_is_the_published_one():
    """AdamW 5e-5 / 1e-3, batch 128, 1024 projections, clips split, seed 3072."""
    config = paper_config("lewm", steps=100)
    assert (config.learning_rate, config.weight_decay) == (5e-5, 1e-3)
    assert (config.batch_size, config.num_directions) == (128, 1024)
    assert (config.split, config.held_out, config.seed) == ("clips", 0.1, 3072)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"family": "vae"}, "family must be one of lewm, pldm, got 'vae'."),
        ({"steps": 0}, "steps must be at least 1, got 0."),
    ],
)
def test_wrong_settings_are_told(settings, message):
    """A config lists what would have been valid."""
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        TrainConfig(**settings)


def test_rollouts_are_for_the_predictor():
    """Published training never feeds a prediction back."""
    told = (
        "rollout_blocks belongs to train_only='predictor', got 5 for train_only='all'."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(told)}$"):
        TrainConfig(rollout_blocks=5)


def test_the_published_macro_recipe():
    """AdamW 5e-5 / 1e-3, batch 128, 15 epochs, 1 % warm-up, windows split."""
    config = macro_config_for("paper")
    assert (config.learning_rate, config.weight_decay) == (5e-5, 1e-3)
    assert (config.batch_size, config.epochs, config.warmup) == (128, 15, 0.01)
    assert (config.split, config.seed) == ("windows", 3072)
    rates = [config.rate_at(step, 1000) for step in range(1000)]
    assert rates[9] == rates[10] == 5e-5
    assert rates[-1] < 1e-9
    assert macro_config_for("small", epochs=3) == MacroTrainConfig(epochs=3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MacroTrainConfig(epochs=0), "epochs must be at least 1, got 0."),
        (
            lambda: MacroTrainConfig(split="clips"),
            "split must be one of episodes, windows, got 'clips'.",
        ),
        (lambda: macro_config_for("big"), "preset must be paper or small, got 'big'."),
    ],
)
def test_wrong_macro_settings_are_refused(make, message):
    """A config lists what would have been valid."""
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        make()
