"""Laws of the action statistics that planners are given."""

import re

import numpy as np
import pytest
from model_makers import make_model
from numpy.testing import assert_allclose, assert_array_equal

from metro.errors import ModelError
from metro.models.action_stats import (
    ActionStats,
    raw_actions,
    require_stats,
    stats_for,
)

STATS = ActionStats([0.5, -1.0], [2.0, 0.5])


class Recording:
    """A corpus that has nothing but actions."""

    def __init__(self, actions):
        self._actions = actions

    def column(self, name):
        assert name == "action"
        return self._actions


def test_normalising_goes_both_ways():
    """Raw actions come back from normalised ones."""
    raw = np.array([[2.5, -1.0], [0.5, 0.0]], dtype=np.float32)
    assert_allclose(STATS.normalise(raw), [[1.0, 0.0], [0.0, 2.0]])
    assert_allclose(STATS.denormalise(STATS.normalise(raw)), raw)


def test_a_missing_action_is_the_mean():
    """NaN becomes 0, what the mean becomes."""
    assert_array_equal(STATS.normalise([[np.nan, -1.0]]), [[0.0, 0.0]])


def test_rows_with_nan_are_ignored():
    """Mean and population std are of complete rows; a constant has std 1."""
    rows = np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, 100.0]])
    stats = ActionStats.of(rows)
    assert_array_equal(stats.mean, [2.0, 5.0])
    assert_array_equal(stats.std, [1.0, 1.0])
    assert_array_equal(stats.normalise(rows), [[-1, 0], [1, 0], [0, 95]])


def test_float32_whatever_was_given():
    """Both arrays are float32, so that planners never compute in float64."""
    stats = ActionStats.of([[0.0, 1.0], [2.0, 3.0]])
    assert stats.mean.dtype == stats.std.dtype == np.float32
    assert stats.denormalise(np.zeros((1, 2))).dtype == np.float32


def test_a_model_is_never_written_to():
    """A model without statistics gets those of each corpus, and keeps none."""
    model = make_model()
    first = stats_for(model, Recording([[0.0, 1.0], [2.0, 1.0], [np.nan, np.nan]]))
    second = stats_for(model, Recording([[5.0, 5.0], [5.0, 7.0]]))
    assert_array_equal(first.mean, [1.0, 1.0])
    assert_array_equal(second.mean, [5.0, 6.0])
    assert model.action_stats is None


def test_a_model_s_own_statistics_come_first():
    """The corpus is not even read if the model knows."""
    assert stats_for(make_model(action_stats=STATS), Recording(None)) is STATS


def test_actions_of_one_number_are_rows():
    """A column ``[N]`` is read as ``[N, 1]``."""
    assert raw_actions(Recording(np.zeros(3))).shape == (3, 1)


def test_what_is_given_comes_before_what_the_model_knows():
    """The caller decides."""
    model = make_model(action_stats=STATS)
    given = ActionStats([0, 0], [1, 1])
    assert require_stats(model) is STATS
    assert require_stats(model, given) is given


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: require_stats(make_model(notes={"name": "released"})),
            "released does not know how its actions were normalised. Take them from "
            "the corpus: action_stats=ActionStats.of(corpus.column('action')).",
        ),
        (
            lambda: make_model(action_stats=ActionStats([0] * 3, [1] * 3)),
            "The model takes actions of 2 numbers; their mean and std have 3. They are "
            "of another environment.",
        ),
        (
            lambda: ActionStats([0, 0], [1]),
            "mean and std must both have shape [A], got [2] and [1].",
        ),
        (
            lambda: ActionStats.of([[np.nan]]),
            "Every action is NaN; at least one row must not be.",
        ),
    ],
)
def test_wrong_statistics_are_refused(call, message):
    """An error says what is wrong and what to do."""
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        call()


@pytest.mark.parametrize("std", [0.0, -1.0, float("nan"), float("inf")])
def test_actions_are_divided_by_numbers_above_zero(std):
    """Any other deviation would make every action the same, or none."""
    with pytest.raises(ModelError, match=r"finite, and std above 0\.$"):
        ActionStats([0.0], [std])
