"""Laws of files of macro models."""

import json
import re
from dataclasses import replace

import pytest
import torch
from macro_makers import SIZES, make_macro
from model_makers import scramble

from metro.errors import ModelError
from metro.models.key_names import to_released
from metro.models.macro.macro_networks import MacroNetwork
from metro.models.macro.macro_weights import (
    load_macro,
    load_released_macro,
    save_macro,
)
from metro.models.macro.sizes import PUBLISHED
from metro.models.networks import WorldModelNetwork
from metro.models.presets import PAPER


def released_tensors(action_size=10):
    """Return tensors under the 425 names and shapes of a released checkpoint."""
    low = WorldModelNetwork(replace(PAPER, action_size=action_size))
    high = MacroNetwork(replace(PUBLISHED, action_size=action_size))
    scramble(low)
    scramble(high)
    renamed = {}
    for name, tensor in to_released(low.state_dict()).items():
        prefix = "low_" if name.startswith(("predictor.", "pred_proj.")) else ""
        renamed[prefix + name] = tensor
    return renamed | high.state_dict()


@pytest.mark.parametrize("action_size", [10, 25])
def test_a_released_checkpoint_loads_strictly(tmp_path, action_size):
    """425 tensors, in Lightning's wrapper: 303 in the world model, 122 in the macro."""
    tensors = released_tensors(action_size)
    assert len(tensors) == 425
    path = tmp_path / "hi_weights.ckpt"
    wrapped = {f"model.{name}": tensor for name, tensor in tensors.items()}
    torch.save({"state_dict": wrapped}, path)
    frozen, macro = load_released_macro(path)
    macro.require_encoder(frozen)
    assert torch.equal(
        macro.network.high_predictor.pos_embedding,
        tensors["high_predictor.pos_embedding"],
    )
    assert torch.equal(
        frozen.network.predictor.pos_embedding, tensors["low_predictor.pos_embedding"]
    )
    assert (macro.latent_size, macro.action_size) == (192, action_size)
    assert load_macro(path).digest == macro.digest  # as --macro of every verb takes it


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda tensors: tensors.pop("macro_to_condition.bias"),
            "lacks 1 of 122 tensors, the first is macro_to_condition.bias. It does not "
            "fit its own configuration.",
        ),
        (
            lambda tensors: tensors.pop("low_pred_proj.net.0.bias"),
            "lacks 1 of 303 tensors, the first is pred_proj.net.0.bias. It does not "
            "fit its own configuration.",
        ),
        (
            lambda tensors: tensors.update({"macro_to_condition.bias": torch.ones(3)}),
            "has macro_to_condition.bias of shape (3,), its configuration asks for "
            "(192,).",
        ),
        (
            lambda tensors: tensors.pop("latent_action_encoder.input_proj.weight"),
            "holds no macro model: latent_action_encoder.input_proj.weight is missing. "
            "Give a checkpoint of Hi-LeWM.",
        ),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_told(tmp_path, change, message):
    """No tensor may be missing or of another shape."""
    tensors = released_tensors()
    change(tensors)
    path = tmp_path / "weights.pt"
    torch.save(tensors, path)
    with pytest.raises(ModelError, match=f"^{re.escape(f'{path} {message}')}$"):
        load_released_macro(path)


def test_files_bring_the_model_back(tmp_path):
    """Weights, sizes, notes and the encoder's digest survive."""
    macro = make_macro(notes={"name": "macro-x"})
    save_macro(macro, tmp_path / "m.safetensors")
    found = load_macro(tmp_path / "m.safetensors")
    assert (found.digest, found.encoder_digest) == (macro.digest, macro.encoder_digest)
    assert (found.name, found.benchmark) == ("macro-x", "tworoom")
    assert found.network.sizes == SIZES


def test_files_that_are_none_are_told(tmp_path):
    """Missing, damaged and foreign files say what to do."""
    from safetensors.torch import save

    path = tmp_path / "m.safetensors"
    with pytest.raises(
        ModelError,
        match=rf"^There is no macro model {path}: not a file or one that comes with "
        r"metro \([\w, -]+\)\. Train one: metro train-macro BENCHMARK\.$",
    ):
        load_macro(path)
    path.write_bytes(b"half")
    with pytest.raises(ModelError, match="is damaged or not a safetensors file"):
        load_macro(path)
    path.write_bytes(save({"x": torch.ones(1)}))
    with pytest.raises(ModelError, match="holds no macro model of metro"):
        load_macro(path)
    about = {"metro-macro": json.dumps({"format": 9})}
    path.write_bytes(save({"x": torch.ones(1)}, metadata=about))
    with pytest.raises(ModelError, match="has model format 9; this metro reads 1"):
        load_macro(path)


@pytest.mark.parametrize("name", ["encoder_digest", "benchmark", "notes"])
def test_values_of_another_type_are_told(tmp_path, name):
    """What a file says about a macro model has its type."""
    model = make_macro()
    setattr(model, name, [["a", 1]])
    save_macro(model, tmp_path / "m.safetensors")
    with pytest.raises(ModelError, match=rf"m\.safetensors: its {name} cannot be"):
        load_macro(tmp_path / "m.safetensors")
