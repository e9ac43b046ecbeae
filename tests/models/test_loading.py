"""Laws of `metro.models.loading` and of the files it reads."""

import json
import os
import re

import numpy as np
import pytest
import torch
from model_makers import make_model

from metro import assets
from metro.errors import ModelError
from metro.models.key_names import to_released
from metro.models.loading import load_model, read_weights
from metro.models.weights import save_model

ONLY_LEWM = pytest.mark.parametrize("released", ["lewm"], indirect=True)


@torch.no_grad()
def swm_outputs(model, frames, actions):
    """Return swm's latents of frames, and its rollout from the first of them."""
    mean, std = torch.tensor([[0.485, 0.456, 0.406], [0.229, 0.224, 0.225]])
    pixels = ((torch.from_numpy(frames) / 255 - mean) / std).permute(0, 3, 1, 2)
    z = model.encode({"pixels": pixels[:, None]})["emb"][:, 0]
    plan = torch.from_numpy(actions)[None]
    info = {"pixels": pixels[None, None, :1].expand(1, len(actions), -1, -1, -1, -1)}
    return z.numpy(), model.rollout(info, plan)["predicted_emb"][0, :, 1:].numpy()


def test_released_folders_give_the_outputs_of_swm(released):
    """Full-size models written by swm encode and roll out as in swm itself."""
    family, model, folder = released
    ours = load_model(folder)
    assert ours.family == family
    assert len(ours.network.state_dict()) == 303
    rng = np.random.default_rng(0)
    frames = rng.integers(256, size=(2, 224, 224, 3), dtype=np.uint8)
    actions = rng.normal(size=(2, 4, 5 * ours.action_size)).astype(np.float32)
    z, predicted = swm_outputs(model, frames, actions)
    np.testing.assert_allclose(ours.encode(frames), z, atol=2e-4)
    found = ours.rollout(np.repeat(z[:1], 2, axis=0), actions)
    np.testing.assert_allclose(found, predicted, atol=2e-4)


@ONLY_LEWM
def test_names_of_transformers_4_are_read(released, tmp_path):
    """Weights under the released names give the same model, bit for bit."""
    _, model, folder = released
    (tmp_path / "config.json").write_text((folder / "config.json").read_text())
    tensors = to_released(model.state_dict())
    assert any(name.startswith("encoder.encoder.layer.11.") for name in tensors)
    wrapped = {
        "state_dict": {f"model.{name}": value for name, value in tensors.items()}
    }
    torch.save(wrapped, tmp_path / "weights.pt")
    assert load_model(tmp_path).digest == load_model(folder).digest
    assert load_model(tmp_path / "weights.pt").digest == load_model(folder).digest


def test_a_pickled_model_is_read_only_on_trust(released, tmp_path):
    """Pickles are refused, and give the same model if the user trusts them."""
    family, model, folder = released
    path = tmp_path / "lewm_object.ckpt"
    torch.save(torch.nn.Sequential(model), path)
    message = (
        f"{path} is a pickle, which can run any code when it is read. If you trust "
        f"where it comes from: trust_pickle=True (--trust-pickle)."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        load_model(path)
    loaded = load_model(path, trust_pickle=True)
    assert (loaded.family, loaded.digest) == (family, load_model(folder).digest)


@ONLY_LEWM
def test_missing_tensors_are_told(released, tmp_path):
    """A state dict without one tensor is refused by name."""
    _, model, folder = released
    (tmp_path / "config.json").write_text((folder / "config.json").read_text())
    tensors = to_released(model.state_dict())
    del tensors["encoder.encoder.layer.3.output.dense.bias"]
    torch.save(tensors, tmp_path / "weights.pt")
    message = (
        f"{tmp_path / 'weights.pt'} lacks 1 of 303 tensors, the first is "
        f"encoder.encoder.layer.3.output.dense.bias. It does not fit its own "
        f"configuration."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        load_model(tmp_path)


@ONLY_LEWM
def test_sizes_that_differ_from_the_configuration_are_told(released, tmp_path):
    """Weights of a model for other actions are refused with both shapes."""
    _, model, folder = released
    config = json.loads((folder / "config.json").read_text())
    size = config["action_encoder"]["input_dim"]
    config["action_encoder"]["input_dim"] = 35
    (tmp_path / "config.json").write_text(json.dumps(config))
    torch.save(model.state_dict(), tmp_path / "weights.pt")
    message = (
        f"{tmp_path / 'weights.pt'} has action_encoder.patch_embed.weight of shape "
        f"(10, {size}, 1), its configuration asks for (10, 35, 1)."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        load_model(tmp_path)


def test_a_truncated_file_is_told(tmp_path):
    """Half of weights.pt is called truncated, with its size."""
    path = tmp_path / "weights.pt"
    torch.save({"a": torch.zeros(1000)}, path)
    path.write_bytes(path.read_bytes()[:1500])
    message = (
        f"{path} is truncated or not a file of weights (1500 bytes). "
        f"Copy or download it again."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        read_weights(path)


def test_objects_in_weights_are_never_built(tmp_path):
    """weights.pt that holds more than tensors is refused without running it."""
    path = tmp_path / "weights.pt"
    torch.save({"a": torch.nn.Linear(1, 1)}, path)
    message = (
        f"{path} holds more than tensors, or is damaged. A pickled model is read "
        f"only as *_object.ckpt with trust_pickle=True (--trust-pickle)."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        read_weights(path)


def test_names_that_mean_nothing_are_told(monkeypatch, tmp_path):
    """A source that is nothing we know lists what it could have been."""
    monkeypatch.setenv("STABLEWM_HOME", str(tmp_path))
    with pytest.raises(ModelError) as caught:
        load_model("no-such-model")
    assert str(caught.value).startswith(
        "There is no model 'no-such-model': not a file, a folder, a repository "
        "user/name or one that comes with metro ("
    )


def test_shipped_models_are_found_by_name(monkeypatch, tmp_path):
    """A model in metro's assets is loaded by its name; others are listed."""
    monkeypatch.setattr(assets, "_folder", lambda: tmp_path)
    save_model(make_model(), tmp_path / "lewm-small-tworoom.safetensors")
    assert load_model("lewm-small-tworoom").digest == make_model().digest
    message = "No model 'x' comes with metro. There are: lewm-small-tworoom."
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        assets.asset_path("x")


def test_a_pipe_holds_no_weights(tmp_path):
    """It is refused at once: reading it would wait for ever."""
    os.mkfifo(tmp_path / "weights.pt")
    with pytest.raises(ModelError, match=r"weights\.pt is a pipe, not a file"):
        read_weights(tmp_path / "weights.pt")


CYCLE = {}
CYCLE["model"] = CYCLE
CONTENTS = [{3: torch.zeros(1)}, {"a": 3}, {}, [], {"model": {(1,): torch.zeros(1)}}]


@pytest.mark.parametrize("contents", [*CONTENTS, CYCLE])
def test_names_of_tensors_are_texts(tmp_path, contents):
    """Anything else in weights.pt is one line."""
    path = tmp_path / "weights.pt"
    torch.save(contents, path)
    with pytest.raises(ModelError) as caught:
        read_weights(path)
    assert str(caught.value).startswith(f"{path} ")
    assert "\n" not in str(caught.value)
