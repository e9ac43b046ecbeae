"""Laws of the settings of macro training."""

import re

import pytest

from metro.errors import ModelError
from metro.models.macro.macro_config import MacroTrainConfig, macro_config_for


def test_the_published_recipe():
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
def test_wrong_recipes_are_told(make, message):
    """A config lists what would have been valid."""
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        make()
