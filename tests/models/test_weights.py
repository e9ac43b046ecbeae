"""Laws of our own files of weights."""

import json
import re
import time

import numpy as np
import pytest
import torch
from model_makers import TINY, make_model

from metro.errors import ModelError
from metro.models.action_stats import ActionStats
from metro.models.loading import load_model
from metro.models.weights import describe, fill, save_model


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


def saved_with(path, about):
    """Write the tensors of a tiny model with any description."""
    from safetensors.torch import save_file

    tensors = {n: t.contiguous() for n, t in make_model().network.state_dict().items()}
    save_file(tensors, path, metadata={"metro": about})


BOMBS = {"depth": 10**7, "latent_size": 10**9, "image_size": 10**9, "mlp_size": 2**62}


@pytest.mark.parametrize("name", BOMBS)
def test_sizes_are_compared_before_anything_is_built(tmp_path, name):
    """A size that the tensors do not have is refused in a second."""
    about = describe(make_model())
    about["sizes"] = about["sizes"] | {name: BOMBS[name]}
    saved_with(tmp_path / "m.safetensors", json.dumps(about))
    started = time.monotonic()
    with pytest.raises(ModelError):
        load_model(tmp_path / "m.safetensors")
    assert time.monotonic() - started < 1


DESCRIPTIONS = {
    "no JSON": "{",
    "a list": "[]",
    "only a format": '{"format": 1}',
    "deep": "[" * 100_000,
    "sizes a list": json.dumps({**describe(make_model()), "sizes": []}),
    "scaling a number": json.dumps({**describe(make_model()), "action_scaling": 3}),
    "family a list": json.dumps({**describe(make_model()), "family": []}),
    "another family": json.dumps({**describe(make_model()), "family": "x"}),
    "benchmark a number": json.dumps({**describe(make_model()), "benchmark": 3}),
    "no rendering": json.dumps({**describe(make_model()), "rendering": None}),
    "notes a list": json.dumps({**describe(make_model()), "notes": [["a", 1]]}),
    "a ViT without heads": json.dumps(
        {
            **describe(make_model()),
            "sizes": {**TINY.to_json(), "encoder": "vit", "widths": [32]},
        }
    ),
    "a width in words": json.dumps(
        {**describe(make_model()), "sizes": {**TINY.to_json(), "heads": "two"}}
    ),
}


@pytest.mark.parametrize("about", DESCRIPTIONS.values(), ids=DESCRIPTIONS)
def test_a_wrong_description_is_one_line(tmp_path, about):
    """Whatever the metadata holds, it is a `ModelError` of one line."""
    saved_with(tmp_path / "m.safetensors", about)
    with pytest.raises(ModelError) as caught:
        load_model(tmp_path / "m.safetensors")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e300])
def test_weights_that_are_no_numbers_are_refused(value):
    """NaN, infinite, or too large for float32: one line, not NaN latents."""
    network = make_model().network
    tensors = {name: tensor.clone() for name, tensor in network.state_dict().items()}
    name = "predictor.pos_embedding"
    tensors[name] = tensors[name].double()
    tensors[name][0, 0, 0] = value
    message = f"m has {name} with NaN, infinite or impossible numbers. Copy it again."
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        fill(network, tensors, "m")


def test_whole_numbers_are_no_weights():
    """A tensor of another kind of number is told, not converted."""
    network = make_model().network
    name = "predictor.pos_embedding"
    tensors = network.state_dict() | {name: network.predictor.pos_embedding.long()}
    message = f"m has {name} as torch.int64, not torch.float32."
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        fill(network, tensors, "m")
