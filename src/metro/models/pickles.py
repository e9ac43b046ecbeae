"""Pickled ``*_object.ckpt`` files of old releases, read only if the user trusts them.

They name classes that no longer exist (``jepa.JEPA``, ViT classes of transformers 4).
None of these is needed: a module's weights are in its instance, so that an empty shell
takes the place of every such class.
"""

import math
import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from metro.errors import ModelError
from metro.files import reading
from metro.models.key_names import to_released
from metro.models.presets import Sizes

_SHELLED = (
    "jepa",
    "module",
    "pldm",
    "stable_pretraining",
    "stable_worldmodel",
    "transformers",
)
"""Packages whose classes are replaced by shells."""

_PARTS = ("encoder", "predictor", "action_encoder", "projector", "pred_proj")


class Shell(nn.Module):
    """Stands for any class of `_SHELLED`; only its contents are looked at."""

    def __init__(self, *_: object, **__: object) -> None:
        super().__init__()


class _Unpickler(pickle.Unpickler):
    """Puts a shell where a class of `_SHELLED` is named."""

    def find_class(self, module: str, name: str) -> Any:
        if module.split(".")[0] in _SHELLED:
            # A class for each name: `read_pickle` knows the family by it.
            return type(name, (Shell,), {})
        return super().find_class(module, name)


def read_pickle(path: Path) -> tuple[str, Sizes, dict[str, Tensor]]:
    """Return the family, the sizes and the weights of a pickled model."""
    # Shaped like a module: torch.load asks for these three names.
    reader = SimpleNamespace(__name__="shells", Unpickler=_Unpickler, load=pickle.load)
    with reading(path, ModelError, "It is damaged or not a pickled model."):
        try:
            contents = torch.load(
                path, map_location="cpu", weights_only=False, pickle_module=reader
            )
        except ImportError as error:
            raise pickle.UnpicklingError(str(error)) from error
        model = _find_model(contents, path)
        tensors = to_released(dict(model.state_dict()))
        family = "pldm" if "pldm" in type(model).__name__.lower() else "lewm"
        return family, sizes_of(tensors, _heads(model)), tensors


def _find_model(contents: Any, path: Path) -> nn.Module:
    """Return the first module that has all parts of a LeWM."""
    modules = contents.modules() if isinstance(contents, nn.Module) else []
    for module in modules:
        children = dict(module.named_children())
        if all(part in children for part in _PARTS):
            for name in set(children) - set(_PARTS):  # heads used for training only
                delattr(module, name)
            return module
    raise ModelError(
        f"{path} holds no module with {', '.join(_PARTS)}; it is not a LeWM or PLDM."
    )


def _heads(model: nn.Module) -> int:
    attention: list[Any] = [m for m in model.modules() if hasattr(m, "to_qkv")]
    # Not next(): a StopIteration is no error to those who read damaged files.
    return int(attention[0].heads)


def sizes_of(tensors: dict[str, Tensor], heads: int) -> Sizes:
    """Return the sizes that released weights have; the heads leave no trace in them.

    Args:
        tensors: Under released names.
        heads: Attention heads of the predictor.
    """
    patches = tensors["encoder.embeddings.patch_embeddings.projection.weight"]
    positions = tensors["encoder.embeddings.position_embeddings"].shape[1] - 1
    layer = "predictor.transformer.layers."
    return Sizes(
        encoder="vit",
        image_size=math.isqrt(positions) * patches.shape[2],
        patch_size=patches.shape[2],
        widths=(patches.shape[0],),
        latent_size=tensors["projector.net.3.weight"].shape[0],
        projector_size=tensors["projector.net.0.weight"].shape[0],
        depth=len({name.split(".")[3] for name in tensors if name.startswith(layer)}),
        heads=heads,
        head_size=tensors[f"{layer}0.attn.to_out.0.weight"].shape[1] // heads,
        mlp_size=tensors[f"{layer}0.mlp.net.1.weight"].shape[0],
        # Leaves no trace in weights, and has no effect on a model that only plans.
        dropout=0.1,
        num_frames=tensors["predictor.pos_embedding"].shape[1],
        action_size=tensors["action_encoder.patch_embed.weight"].shape[1],
        smoothed_size=tensors["action_encoder.patch_embed.weight"].shape[0],
    )
