"""`load_model`: from a file, a folder, the name of a shipped model or a repository."""

import os
import pickle
import re
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from metro.assets import asset_names, asset_path
from metro.errors import ModelError
from metro.files import DAMAGE, reading, require_regular_file
from metro.models.adapter import PlannableModel, as_world_model, import_model
from metro.models.configs import read_config
from metro.models.frozen import FrozenModel
from metro.models.hub import (
    cached_folder,
    fetch_folder,
    released_models,
    sha256_of,
)
from metro.models.key_names import unwrapped
from metro.models.networks import WorldModelNetwork
from metro.models.pickles import read_pickle
from metro.models.weights import CURE, build, read_model

_FACTORY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_REPOSITORY = re.compile(r"[\w.-]+/[\w.-]+")


def load_model(
    source: Any, *, trust_pickle: bool = False
) -> FrozenModel | PlannableModel:
    """Return the world model of any source that metro knows, ready to plan.

    Args:
        source: A ``.safetensors`` file of ours; a folder with ``config.json`` and
            ``weights.pt``, or that ``.pt`` file; the name of a shipped model such as
            ``lewm-small-tworoom``; ``user/repository`` on Hugging Face, taken from the
            local caches and only else downloaded; a pickled ``*_object.ckpt``;
            ``package.module:factory``, which makes a world model of your own; or such
            a model itself (`metro.types.WorldModel`).
        trust_pickle: Allow pickled files, which can run any code.
    """
    if not isinstance(source, str | Path):
        return as_world_model(source)
    if _FACTORY.fullmatch(str(source)):
        return import_model(str(source))
    return load_frozen(source, trust_pickle=trust_pickle)


def load_frozen(source: str | Path, *, trust_pickle: bool = False) -> FrozenModel:
    """Return a LeWM or PLDM: what `load_model` takes, without models of others."""
    path = Path(os.path.expanduser(source))
    # What lies here comes first: a folder may be called like a repository.
    if path.is_file():
        return _load_file(path, trust_pickle)
    if path.is_dir():
        return load_folder(path)
    name = str(source)
    if name in asset_names():
        return read_model(asset_path(name))
    folder = cached_folder(name)
    # With an ending it is a file that is missing, nothing to download.
    if folder is None and _REPOSITORY.fullmatch(name) and path.suffix == "":
        folder = fetch_folder(name)
    if folder is not None:
        return load_folder(folder, repository=name)
    raise ModelError(
        f"There is no model {name!r}: not a file, a folder, a repository user/name "
        f"or one that comes with metro ({', '.join(asset_names()) or 'none'})."
    )


def load_folder(
    folder: Path, *, weights: Path | None = None, repository: str | None = None
) -> FrozenModel:
    """Return the model in a released folder, or one of swm's ``save_pretrained``.

    Args:
        folder: Holds ``config.json`` and one ``.pt`` file.
        weights: Which ``.pt`` file, if there are several.
        repository: Where it comes from, if known; decides the benchmark.
    """
    family, sizes = read_config(folder / "config.json")
    weights = weights or _only_weights(folder)
    tensors = read_weights(weights)
    network = build(WorldModelNetwork, sizes, tensors, str(weights))
    return FrozenModel(
        network,
        family=family,
        benchmark=_benchmark(weights, repository or folder.name),
        notes={"name": repository or folder.name, "source": str(folder)},
    )


def read_weights(path: Path) -> dict[str, Tensor]:
    """Return the tensors of a ``.pt`` file, without running code from it."""
    require_regular_file(path, ModelError)
    try:
        contents = torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        raise ModelError(
            f"{path} holds more than tensors, or is damaged. A pickled model is read "
            f"only as *_object.ckpt with trust_pickle=True (--trust-pickle)."
        ) from error
    except DAMAGE as error:
        raise ModelError(
            f"{path} is truncated or not a file of weights "
            f"({path.stat().st_size} bytes). Copy or download it again."
        ) from error
    with reading(path, ModelError, CURE):
        tensors = unwrapped(contents) if isinstance(contents, dict) else {}
    found = {n: t for n, t in tensors.items() if isinstance(t, Tensor)}
    if not found or len(found) < len(tensors) or {*map(type, found)} != {str}:
        raise ModelError(f"{path} does not hold a state dict of tensors.")
    return found


def _load_file(path: Path, trust_pickle: bool) -> FrozenModel:
    if path.suffix == ".safetensors":
        return read_model(path)
    if path.suffix == ".pt":
        return load_folder(path.parent, weights=path)
    if path.suffix != ".ckpt":
        raise ModelError(
            f"{path} is not a model: metro reads .safetensors, .pt and .ckpt files."
        )
    if not trust_pickle:
        raise ModelError(
            f"{path} is a pickle, which can run any code when it is read. If you trust "
            f"where it comes from: trust_pickle=True (--trust-pickle)."
        )
    family, sizes, tensors = read_pickle(path)
    network = build(WorldModelNetwork, sizes, tensors, str(path))
    return FrozenModel(network, family=family, notes={"name": path.stem})


def _only_weights(folder: Path) -> Path:
    found = sorted(folder.glob("*.pt"))
    if len(found) != 1:
        names = ", ".join(file.name for file in found) or "none"
        raise ModelError(
            f"{folder} must hold exactly one .pt file, found {names}. "
            f"Name the file itself."
        )
    return found[0]


def _benchmark(weights: Path, name: str) -> str | None:
    """Return the benchmark of released weights: by digest, or by the folder's name."""
    # By digest too: a copied folder can have any name.
    digest = sha256_of(weights)
    for repository, (benchmark, prefix) in released_models().items():
        mangled = f"models--{repository.replace('/', '--')}"
        names = (repository, mangled, repository.split("/")[1])
        if digest.startswith(prefix) or name in names:
            return benchmark
    return None
