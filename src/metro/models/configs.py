"""``config.json`` of released models: read as values, never imported or called."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from metro.errors import ModelError, shortened
from metro.files import reading, require_regular_file
from metro.models.presets import Sizes

_FAMILIES = {
    "stable_worldmodel.wm.lewm.LeWM": "lewm",
    "stable_worldmodel.wm.lewm.lewm.LeWM": "lewm",
    "stable_worldmodel.wm.pldm.PLDM": "pldm",
    "stable_worldmodel.wm.pldm.pldm.PLDM": "pldm",
    "jepa.JEPA": "lewm",
}

_MODULES = (
    "stable_worldmodel.wm.lewm.module",
    "stable_worldmodel.wm.pldm.module",
    "module",
)

_TARGETS = {
    "encoder": ("stable_pretraining.backbone.utils.vit_hf",),
    "predictor": tuple(
        f"{module}.{name}"
        for module in _MODULES
        for name in ("Predictor", "ARPredictor")
    ),
    "action_encoder": tuple(f"{module}.Embedder" for module in _MODULES),
    "projector": tuple(f"{module}.MLP" for module in _MODULES),
    "pred_proj": tuple(f"{module}.MLP" for module in _MODULES),
}
"""What each part of a configuration may name as its ``_target_``."""

_NORM = "torch.nn.BatchNorm1d"

VIT_WIDTHS = {"tiny": 192, "small": 384, "base": 768}


def read_config(path: Path) -> tuple[str, Sizes]:
    """Return the family and the sizes that a ``config.json`` describes."""
    if not path.exists():
        raise ModelError(
            f"{path} does not exist; a model's folder holds config.json and weights.pt."
        )
    require_regular_file(path, ModelError)
    with reading(path, ModelError, "Copy it again."):
        return parse_config(json.loads(path.read_text()), str(path))


def parse_config(config: Mapping[str, Any], source: str) -> tuple[str, Sizes]:
    """Return the family and the sizes of a Hydra tree that comes from ``source``.

    Its ``_target_`` names are looked up, never imported.
    """
    if not isinstance(config, Mapping):
        raise ModelError(f"{source} holds no tree of settings. Copy it again.")
    family = _FAMILIES.get(str(config.get("_target_")))
    if family is None:
        raise _unknown_target(source, "the model", config.get("_target_"), _FAMILIES)
    parts = {name: _part(config, name, source) for name in _TARGETS}
    try:
        sizes = _sizes(parts, source)
    except (KeyError, TypeError, ValueError) as error:
        # ModelError is a ValueError too, and says more than the message below.
        if isinstance(error, ModelError):
            raise
        raise ModelError(
            f"{source} does not describe a LeWM or PLDM: "
            f"{shortened(repr(error))} is missing or wrong."
        ) from error
    _check_widths(parts, sizes, source)
    return family, sizes


def _part(config: Mapping[str, Any], name: str, source: str) -> Mapping[str, Any]:
    part = config.get(name)
    if not isinstance(part, Mapping):
        raise ModelError(
            f"{source} has no {name}; it does not describe a LeWM or PLDM."
        )
    if part.get("_target_") not in _TARGETS[name]:
        raise _unknown_target(source, name, part.get("_target_"), _TARGETS[name])
    return part


def _unknown_target(source: str, part: str, got: object, known: Any) -> ModelError:
    return ModelError(
        f"{source} asks for {shortened(repr(got))} as {part}; "
        f"metro knows {', '.join(known)}. "
        f"It never imports what a configuration names."
    )


def _sizes(parts: Mapping[str, Mapping[str, Any]], source: str) -> Sizes:
    encoder, predictor = parts["encoder"], parts["predictor"]
    # A tuple: what a file holds cannot always be looked up.
    if encoder["size"] not in tuple(VIT_WIDTHS):
        raise ModelError(
            f"{source} asks for a ViT of size {shortened(repr(encoder['size']))}; "
            f"metro builds {', '.join(VIT_WIDTHS)}."
        )
    return Sizes(
        encoder="vit",
        image_size=int(encoder["image_size"]),
        patch_size=int(encoder["patch_size"]),
        widths=(VIT_WIDTHS[encoder["size"]],),
        latent_size=int(predictor["input_dim"]),
        projector_size=int(parts["projector"]["hidden_dim"]),
        depth=int(predictor["depth"]),
        heads=int(predictor["heads"]),
        # What a file may leave out has the default of the published classes.
        head_size=int(predictor.get("dim_head", 64)),
        mlp_size=int(predictor["mlp_dim"]),
        dropout=float(predictor.get("dropout", 0.0)),
        num_frames=int(predictor["num_frames"]),
        action_size=int(parts["action_encoder"]["input_dim"]),
        smoothed_size=int(parts["action_encoder"].get("smoothed_dim", 10)),
    )


def _check_widths(
    parts: Mapping[str, Mapping[str, Any]], sizes: Sizes, source: str
) -> None:
    """Refuse what the network cannot be: other widths inside, other normalisation."""
    latent, hidden = sizes.latent_size, sizes.projector_size
    expected = {
        ("predictor", "hidden_dim"): latent,
        ("predictor", "output_dim"): latent,
        ("action_encoder", "emb_dim"): latent,
        ("action_encoder", "mlp_scale"): 4,
        ("projector", "input_dim"): sizes.widths[0],
        ("projector", "output_dim"): latent,
        ("pred_proj", "input_dim"): latent,
        ("pred_proj", "hidden_dim"): hidden,
        ("pred_proj", "output_dim"): latent,
    }
    for (part, name), value in expected.items():
        got = parts[part].get(name)
        if got is not None and got != value:
            raise ModelError(
                f"{source} has {part}.{name} = {shortened(str(got))}; "
                f"metro builds it with {value}."
            )
    for part in ("projector", "pred_proj"):
        norm = parts[part].get("norm_fn")
        got = norm.get("_target_") if isinstance(norm, Mapping) else norm
        if not isinstance(norm, Mapping) or got != _NORM:
            raise ModelError(
                f"{source} has {part}.norm_fn = {shortened(str(got))}; "
                f"metro builds it with {_NORM}."
            )
