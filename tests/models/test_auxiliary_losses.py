"""Laws of the auxiliary losses."""

import re
from dataclasses import replace

import pytest
from model_makers import QUICK, make_footage, make_model, train

from metro.errors import ModelError
from metro.models.sequences import (
    TrajectoryDataset,
)


@pytest.fixture(scope="module")
def dataset():
    """Twelve episodes of a dot that its actions move."""
    return make_footage()


@pytest.mark.parametrize(("head", "loss"), [("state", "state"), ("pixel", "pixels")])
def test_heads_leave_no_trace_in_the_file(dataset, tmp_path, head, loss):
    """A head helps training and is not part of the model; the name tells it."""
    config = replace(QUICK, **{f"{head}_head": "throughout"})
    result = train(dataset, tmp_path / "model.safetensors", config)
    assert result.log[-1][loss] < 2
    assert result.model.name == f"lewm-small-{loss}-tworoom"
    expected = make_model().network.state_dict()
    assert result.model.network.state_dict().keys() == expected.keys()


def test_thumbnails_can_be_drawn_from_z(dataset, tmp_path):
    """Standardised thumbnails have spread 1; a trained head explains some of it."""
    config = replace(QUICK, steps=60, pixel_head="throughout")
    result = train(dataset, tmp_path / "model.safetensors", config)
    assert result.log[-1]["pixels"] < 0.8 * result.log[0]["pixels"]


def test_a_state_head_without_states_is_told(dataset, tmp_path):
    """The head needs recorded states."""
    blind = TrajectoryDataset(dataset.pixels, dataset.actions, dataset.lengths)
    message = (
        "state_head='warmup' needs the true state of every frame; the corpus has none. "
        "Use state_head='none'."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        train(
            blind, tmp_path / "model.safetensors", replace(QUICK, state_head="warmup")
        )
