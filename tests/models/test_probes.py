"""Laws of `metro.models.probes`, footage from corpora, and cards."""

import json

import numpy as np
import pytest
from model_makers import make_footage, make_model

from metro.models.action_stats import ActionStats
from metro.models.probes import HORIZONS, prediction_errors, probe_state, report


class Copier:
    """A fake model whose latents are some pixels and whose rollout copies them."""

    action_size = 2
    action_stats = ActionStats([0.0, 0.0], [1.0, 1.0])

    def encode(self, frames):
        """Return a few pixels."""
        return frames.reshape(len(frames), -1)[:, ::97].astype(np.float32) / 255

    def rollout(self, z, actions):
        """Return z, again and again."""
        return np.repeat(z[:, None], actions.shape[1], axis=1)


@pytest.fixture(scope="module")
def footage():
    """Twelve episodes of a dot that its actions move."""
    return make_footage()


def test_copying_is_as_good_as_copying(footage):
    """A model that copies has the copy's error at every horizon."""
    errors = prediction_errors(Copier(), footage, np.arange(12))
    assert [error["blocks"] for error in errors] == list(HORIZONS)
    for error in errors:
        assert error["prediction"] == error["copy"] > 0


def test_horizons_end_with_the_episodes():
    """Blocks that no episode is long enough for are left out."""
    footage = make_footage(3, 12)
    errors = prediction_errors(Copier(), footage, np.arange(3))
    assert [error["blocks"] for error in errors] == [1, 2]
    assert prediction_errors(Copier(), make_footage(3, 4), np.arange(3)) == []


def test_a_report_is_plain_json(footage):
    """The final report has every figure, as JSON values."""
    model = make_model(action_stats=ActionStats([0, 0], [1, 1]))
    figures = json.loads(json.dumps(report(model, footage, np.array([1, 5, 9]))))
    assert set(figures) == {"health", "probe", "prediction", "saturation"}
    assert set(figures["probe"]) == {"x", "y"}
    assert figures["saturation"][0]["distance"] == 1


def test_probes_read_a_linear_state():
    """R² is 1 for a linear function of z, about 0 for noise."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(3000, 6)).astype(np.float32)
    states = np.column_stack([z @ rng.normal(size=6) + 3, rng.normal(size=3000)])
    scores = probe_state(z, states, np.arange(3000) >= 2000, names=("line", "noise"))
    assert scores["line"] > 0.999
    assert abs(scores["noise"]) < 0.05
