"""Files of macro models: ours, and released ones with the frozen LeWM inside."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import Tensor

from metro.assets import asset_path, macro_asset_names
from metro.errors import ModelError
from metro.files import reading
from metro.models.frozen import FrozenModel
from metro.models.loading import read_weights
from metro.models.macro.macro_networks import MacroNetwork
from metro.models.macro.model import MacroModel
from metro.models.macro.sizes import PUBLISHED, MacroSizes
from metro.models.networks import WorldModelNetwork
from metro.models.presets import PAPER
from metro.models.weights import (
    CURE,
    FORMAT,
    build,
    read_tensors,
    typed,
    write_tensors,
)

_METADATA_KEY = "metro-macro"
"""The key of the file's metadata that holds our JSON."""

_NOT_OURS = "holds no macro model of metro. Train one: metro train-macro BENCHMARK."

_KINDS = {
    "encoder_digest": str,
    "benchmark": str | None,
    "notes": Mapping[str, Any],
}
"""Types of what is passed on as it is."""

_LOW = {"low_predictor.": "predictor.", "low_pred_proj.": "pred_proj."}
"""Parts of the frozen LeWM that a released macro checkpoint renames."""

_HIGH = (
    "latent_action_encoder.",
    "macro_to_condition.",
    "high_predictor.",
    "high_pred_proj.",
)


def save_macro(model: MacroModel, path: str | Path) -> None:
    """Write a macro model to one ``.safetensors`` file, whole or not at all."""
    about = {
        "format": FORMAT,
        "encoder_digest": model.encoder_digest,
        "benchmark": model.benchmark,
        "sizes": model.network.sizes.to_json(),
        "notes": model.notes,
    }
    write_tensors(model.network, _METADATA_KEY, about, path)


def load_macro(source: str | Path) -> MacroModel:
    """Return the macro model in a file, or one that comes with metro.

    Args:
        source: A ``.safetensors`` file that `save_macro` wrote, a released checkpoint
            (any other ending; the LeWM inside must be the one that plans), or the name
            of a shipped macro model such as ``macro-lewm-small-tworoom``.
    """
    shipped = str(source) in macro_asset_names()
    path = asset_path(str(source)) if shipped else Path(source)
    if not path.is_file():
        known = ", ".join(macro_asset_names()) or "none"
        raise ModelError(
            f"There is no macro model {source}: not a file or one that comes with "
            f"metro ({known}). Train one: metro train-macro BENCHMARK."
        )
    if path.suffix != ".safetensors":
        return load_released_macro(path)[1]
    about, tensors = read_tensors(path, _METADATA_KEY, _NOT_OURS)
    passed = typed(about, _KINDS, path)
    with reading(path, ModelError, CURE):
        sizes = MacroSizes.from_json(about["sizes"])
        return MacroModel(build(MacroNetwork, sizes, tensors, str(path)), **passed)


def load_released_macro(path: Path) -> tuple[FrozenModel, MacroModel]:
    """Return both models of a checkpoint of Hi-LeWM: 303 and 122 tensors, strictly."""
    tensors = read_weights(path)
    high = {name: one for name, one in tensors.items() if name.startswith(_HIGH)}
    low = {_low_name(name): one for name, one in tensors.items() if name not in high}
    # The one size that differs between benchmarks; all others are as published.
    action_size = _action_size(high, path)
    sizes = replace(PAPER, action_size=action_size)
    network = build(WorldModelNetwork, sizes, low, str(path))
    notes = {"name": path.stem, "source": str(path)}
    frozen = FrozenModel(network, family="lewm", notes=notes)
    macro_sizes = replace(PUBLISHED, action_size=action_size)
    macro = build(MacroNetwork, macro_sizes, high, str(path))
    return frozen, MacroModel(
        macro,
        # Of the LeWM inside: no other has the latents that this one predicts.
        encoder_digest=frozen.digest,
        notes={**notes, "name": f"macro-{path.stem}"},
    )


def _low_name(name: str) -> str:
    for released, ours in _LOW.items():
        if name.startswith(released):
            return ours + name.removeprefix(released)
    return name


def _action_size(high: Mapping[str, Tensor], path: Path) -> int:
    first = high.get("latent_action_encoder.input_proj.weight")
    if first is None or first.ndim != 2:
        raise ModelError(
            f"{path} holds no macro model: latent_action_encoder.input_proj.weight is "
            f"missing. Give a checkpoint of Hi-LeWM."
        )
    return int(first.shape[1])
