"""Laws of our own files of weights."""

import re

import numpy as np
import pytest
import torch
from model_makers import TINY, make_model, scramble

from metro.compat import import_swm
from metro.errors import ModelError
from metro.models.action_stats import ActionStats
from metro.models.loading import load_model
from metro.models.weights import save_model

MODULES = {
    "lewm": "stable_worldmodel.wm.lewm.module",
    "pldm": "stable_worldmodel.wm.pldm.module",
}


CLASSES = {
    "lewm": "stable_worldmodel.wm.lewm.LeWM",
    "pldm": "stable_worldmodel.wm.pldm.pldm.PLDM",
}


def released_config(family="lewm", action_size=10):
    """Return the tree of a released ``config.json``."""
    module = MODULES[family]
    norm = {"_target_": "torch.nn.BatchNorm1d", "_partial_": True}
    mlp = {
        "_target_": f"{module}.MLP",
        "input_dim": 192,
        "output_dim": 192,
        "hidden_dim": 2048,
        "norm_fn": norm,
    }
    return {
        "_target_": CLASSES[family],
        "encoder": {
            "_target_": "stable_pretraining.backbone.utils.vit_hf",
            "size": "tiny",
            "patch_size": 14,
            "image_size": 224,
            "pretrained": False,
            "use_mask_token": False,
        },
        "predictor": {
            "_target_": f"{module}.Predictor",
            "num_frames": 3,
            "input_dim": 192,
            "hidden_dim": 192,
            "output_dim": 192,
            "depth": 6,
            "heads": 16,
            "mlp_dim": 2048,
            "dim_head": 64,
            "dropout": 0.1,
            "emb_dropout": 0.0,
        },
        "action_encoder": {
            "_target_": f"{module}.Embedder",
            "input_dim": action_size,
            "emb_dim": 192,
        },
        "projector": dict(mlp),
        "pred_proj": dict(mlp),
    }


def build_with_swm(family, config):
    """Return swm's own model of a configuration, with random weights."""
    import_swm()
    from hydra.utils import get_class, instantiate
    from transformers import ViTConfig, ViTModel

    vit = ViTModel(
        ViTConfig(
            hidden_size=192,
            num_hidden_layers=12,
            num_attention_heads=3,
            intermediate_size=768,
            image_size=224,
            patch_size=14,
        ),
        add_pooling_layer=False,
        use_mask_token=False,
    )
    parts = {
        name: instantiate(part)
        for name, part in config.items()
        if name not in ("_target_", "encoder")
    }
    model = get_class(CLASSES[family])(encoder=vit, **parts)
    scramble(model)
    return model.eval()


@pytest.fixture(scope="module", params=["lewm", "pldm"])
def released(request, tmp_path_factory):
    """A full-size model, and the folder that swm's ``save_pretrained`` wrote."""
    from omegaconf import OmegaConf

    family = request.param
    action_size = {"lewm": 10, "pldm": 25}[family]
    config = released_config(family, action_size)
    torch.manual_seed(0)
    model = build_with_swm(family, config)
    home = tmp_path_factory.mktemp(family)
    from stable_worldmodel.wm.utils import save_pretrained

    save_pretrained(model, "run", OmegaConf.create(config), cache_dir=str(home))
    return family, model, next(home.glob("**/run"))


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
