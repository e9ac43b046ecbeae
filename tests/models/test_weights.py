"""Laws of our own files of weights."""

import re

import numpy as np
import pytest
import torch
from model_makers import TINY, make_model

from metro.errors import ModelError
from metro.models.action_stats import ActionStats
from metro.models.loading import load_model
from metro.models.weights import save_model


def test_our_files_come_back_bit_for_bit(tmp_path):
    """A saved model has the same digest, scaling and notes when it is read."""
    model = make_model(
        action_stats=ActionStats([0.1, 0.2], [1.0, 2.0]), notes={"name": "tiny"}
    )
    save_model(model, tmp_path / "tiny.safetensors")
    found = load_model(tmp_path / "tiny.safetensors")
    assert found.digest == model.digest
    assert found.network.sizes == TINY
    assert (found.name, found.benchmark, found.rendering) == (
        "tiny",
        "tworoom",
        "stock",
    )
    np.testing.assert_array_equal(found.action_stats.std, [1.0, 2.0])
    frames = np.random.default_rng(0).integers(256, size=(3, 16, 16, 3), dtype=np.uint8)
    np.testing.assert_array_equal(found.encode(frames), model.encode(frames))


def test_a_truncated_safetensors_is_told(tmp_path):
    """Half of our file is called damaged."""
    path = tmp_path / "tiny.safetensors"
    save_model(make_model(), path)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ModelError) as caught:
        load_model(path)
    assert str(caught.value).startswith(
        f"{path} is damaged or not a safetensors file ("
    )
    assert str(caught.value).endswith("). Copy it again.")


def test_safetensors_of_others_are_told(tmp_path):
    """Tensors without our description are not a model of ours."""
    from safetensors.torch import save_file

    path = tmp_path / "other.safetensors"
    save_file({"a": torch.zeros(1)}, path)
    message = (
        f"{path} holds tensors but no metro model; released weights are folders with "
        f"config.json and weights.pt."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        load_model(path)
