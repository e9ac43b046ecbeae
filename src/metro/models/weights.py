"""Our own files: one ``.safetensors`` that holds all it takes to build the model."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from metro.errors import ModelError, one_line, shortened
from metro.files import has_type, reading, require_regular_file
from metro.models.action_stats import ActionStats
from metro.models.frozen import FrozenModel
from metro.models.key_names import to_installed, to_released
from metro.models.networks import WorldModelNetwork
from metro.models.presets import FAMILIES, JsonSizes, Sizes
from metro.storage.atomic import write_atomically

Network = TypeVar("Network", bound=nn.Module)
AnySizes = TypeVar("AnySizes", bound=JsonSizes)

FORMAT = 1

CURE = "Copy it again."

_METADATA_KEY = "metro"
"""The key of the file's metadata that holds our JSON."""

_KINDS = {
    "family": str,
    "benchmark": str | None,
    "rendering": str,
    "notes": Mapping[str, Any],
}
"""Types of what is passed on as it is."""

_NOT_OURS = (
    "holds tensors but no metro model; released weights are folders with config.json "
    "and weights.pt."
)


def save_model(model: FrozenModel, path: str | Path) -> None:
    """Write a model to one ``.safetensors`` file, whole or not at all."""
    write_tensors(model.network, _METADATA_KEY, describe(model), path)


def describe(model: FrozenModel) -> dict[str, Any]:
    """Return what a model's file says about it, as JSON values."""
    stats = model.action_stats
    return {
        "format": FORMAT,
        "family": model.family,
        "benchmark": model.benchmark,
        "rendering": model.rendering,
        "action_scaling": stats and [stats.mean.tolist(), stats.std.tolist()],
        "sizes": model.network.sizes.to_json(),
        "notes": model.notes,
    }


def read_model(path: Path) -> FrozenModel:
    """Return the model in a ``.safetensors`` file that `save_model` wrote."""
    about, tensors = read_tensors(path, _METADATA_KEY, _NOT_OURS)
    passed = typed(about, _KINDS, path)
    if passed["family"] not in FAMILIES:
        raise ModelError(f"{path}: its family must be {' or '.join(FAMILIES)}. {CURE}")
    with reading(path, ModelError, CURE):
        scaling = about["action_scaling"]
        stats = None if scaling is None else ActionStats(*scaling)
        sizes = Sizes.from_json(about["sizes"])
        network = build(WorldModelNetwork, sizes, tensors, str(path))
        return FrozenModel(network, action_stats=stats, **passed)


def typed(
    about: Mapping[str, Any], kinds: Mapping[str, Any], path: Path
) -> dict[str, Any]:
    """Return some values of a description, each of the type that ``kinds`` says."""
    for name, kind in kinds.items():
        if name not in about or not has_type(about[name], kind):
            got = shortened(repr(about.get(name)))
            raise ModelError(f"{path}: its {name} cannot be {got}. {CURE}")
    return {name: about[name] for name in kinds}


def build(
    make: Callable[[AnySizes], Network],
    sizes: AnySizes,
    tensors: Mapping[str, Tensor],
    source: str,
) -> Network:
    """Return a network with weights; it is built only if these have its sizes."""
    values = {n: v for n, v in sizes.to_json().items() if isinstance(v, int)}
    depths = [v for n, v in values.items() if n.endswith("depth")]
    layers = max(*depths, len(getattr(sizes, "widths", ())))
    # Every layer has tensors: more layers than tensors would take for ever to make.
    if min(values.values()) < 1 or layers > len(tensors):
        raise ModelError(
            f"{source} has {len(tensors)} tensors, which do not fit "
            f"{shortened(str(sizes))}."
        )
    with reading(source, ModelError, CURE):
        # First without memory: sizes may ask for any amount of it.
        with torch.device("meta"):
            _fitting(make(sizes), tensors, source)
        network = make(sizes)
        fill(network, tensors, source)
    return network


def fill(network: nn.Module, tensors: Mapping[str, Tensor], source: str) -> None:
    """Put weights into a network: exactly its tensors, each of its size.

    The tensors have their released or installed names; ``source`` is for messages.
    """
    network.load_state_dict(_fitting(network, tensors, source), strict=True)
    # Afterwards: a number may be finite in the file, and too large for float32.
    for name, tensor in network.state_dict().items():
        lowest = 0 if name.endswith("running_var") else -torch.inf
        if not tensor.isfinite().all() or (tensor < lowest).any():
            raise ModelError(
                f"{source} has {name} with NaN, infinite or impossible numbers. {CURE}"
            )


def _fitting(
    network: nn.Module, tensors: Mapping[str, Tensor], source: str
) -> dict[str, Tensor]:
    """Return weights under a network's own names, or raise `ModelError`."""
    expected = network.state_dict()
    given = to_installed(tensors, expected)
    missing = sorted(set(to_released(expected)) - set(to_released(given)))
    unknown = sorted(set(to_released(given)) - set(to_released(expected)))
    # Strictly: a tensor that is silently left at random would plan, only badly.
    for wrong, what in ((missing, "lacks"), (unknown, "has unknown")):
        if wrong:
            raise ModelError(
                f"{source} {what} {len(wrong)} of {len(expected)} tensors, the first "
                f"is {shortened(wrong[0])}. It does not fit its own configuration."
            )
    for name, tensor in given.items():
        if tensor.shape != expected[name].shape:
            raise ModelError(
                f"{source} has {name} of shape {tuple(tensor.shape)}, its "
                f"configuration asks for {tuple(expected[name].shape)}."
            )
        if tensor.is_floating_point() != expected[name].is_floating_point():
            raise ModelError(
                f"{source} has {name} as {tensor.dtype}, not {expected[name].dtype}."
            )
    return given


def write_tensors(
    network: nn.Module, key: str, about: Mapping[str, Any], path: str | Path
) -> None:
    """Write a network to one safetensors file, whole or not at all.

    Weights have their released names; the description is JSON under a metadata key.
    """
    from safetensors.torch import save

    # safetensors refuses other layouts, and our convolutions are channels last.
    tensors = {
        name: tensor.detach().cpu().contiguous()
        for name, tensor in to_released(network.state_dict()).items()
    }
    # One text, as safetensors allows strings only; sorted, for the same bytes.
    metadata = {key: json.dumps(about, sort_keys=True)}
    # Not safetensors' own save_file, which makes files that only the owner reads.
    write_atomically(path, save(tensors, metadata=metadata))


def read_tensors(
    path: Path, key: str, not_ours: str
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return the description and the tensors of a safetensors file of ours.

    Args:
        path: The file.
        key: Metadata key that holds the description, as JSON.
        not_ours: What to say of a file without that key, after its path.
    """
    from safetensors import SafetensorError, safe_open

    require_regular_file(path, ModelError)
    try:
        with reading(path, ModelError, CURE), safe_open(path, framework="pt") as file:
            entry = (file.metadata() or {}).get(key)
            tensors = {name: file.get_tensor(name) for name in file.keys()}
    except SafetensorError as error:
        raise ModelError(
            f"{path} is damaged or not a safetensors file ({one_line(error)}). {CURE}"
        ) from error
    if entry is None:
        raise ModelError(f"{path} {not_ours}")
    with reading(path, ModelError, CURE):
        about = dict(json.loads(entry))
    if about.get("format") != FORMAT:
        raise ModelError(
            f"{path} has model format {shortened(str(about.get('format')))}; this "
            f"metro reads {FORMAT}. Install the metro-wm that wrote it."
        )
    return about, tensors


def count_parameters(network: nn.Module) -> int:
    """Return the number of trainable numbers."""
    return sum(parameter.numel() for parameter in network.parameters())
