"""Laws of config.json: read as values, never imported."""

import re

import pytest
import torch
from model_makers import scramble

from metro.compat import import_swm
from metro.errors import ModelError
from metro.models.configs import parse_config
from metro.models.loading import load_model
from metro.models.presets import PAPER

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


def test_unknown_targets_are_never_imported():
    """A configuration that names something else is refused with the known names."""
    config = released_config()
    config["_target_"] = "os.system"
    message = (
        "config.json asks for 'os.system' as the model; metro knows "
        "stable_worldmodel.wm.lewm.LeWM, stable_worldmodel.wm.lewm.lewm.LeWM, "
        "stable_worldmodel.wm.pldm.PLDM, stable_worldmodel.wm.pldm.pldm.PLDM, "
        "jepa.JEPA. It never imports what a configuration names."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        parse_config(config, "config.json")


def test_released_configurations_have_the_published_sizes():
    """The released tree is the paper preset."""
    assert parse_config(released_config(), "config.json") == ("lewm", PAPER)


def test_other_widths_are_refused():
    """A predictor of another inner width is told, not built wrongly."""
    config = released_config()
    config["predictor"]["hidden_dim"] = 384
    message = "config.json has predictor.hidden_dim = 384; metro builds it with 192."
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        parse_config(config, "config.json")


def test_a_folder_without_configuration_is_told(tmp_path):
    """A folder that holds no config.json says what belongs there."""
    message = (
        f"{tmp_path / 'config.json'} does not exist; a model's folder holds "
        f"config.json and weights.pt."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        load_model(tmp_path)
