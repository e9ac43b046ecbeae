"""Released models: their configurations, and swm's own networks of them."""

from model_makers import scramble

from metro.compat import import_swm

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
