"""Laws of model cards."""

import numpy as np
import pytest
from model_makers import QUICK, make_footage, make_model

from metro.models.action_stats import ActionStats
from metro.models.cards import card_text
from metro.models.probes import report


@pytest.fixture(scope="module")
def footage():
    """Twelve episodes of a dot that its actions move."""
    return make_footage()


def test_a_card_says_how_its_corpus_was_recorded(footage):
    """The recipe and the seed stand behind the number of frames."""
    model = make_model(
        action_stats=ActionStats([0, 0], [1, 1]),
        notes={
            "recipe": QUICK.to_json(),
            "corpus": {"settings": {"recipe": "expert", "seed": 3}},
            "num_episodes": 12,
            "num_frames": 360,
            "init": None,
        },
    )
    figures = report(model, footage, np.array([1, 5]))
    text = card_text(model, figures, 3.2)
    assert "12 episodes, 360 frames (recipe expert, seed 3)" in text
