"""Importing stable_worldmodel, also where torchvision does not match torch."""

import sys
import warnings
from importlib import import_module
from types import ModuleType
from typing import Any

from metro.errors import MissingExtra

_OPERATORS = {
    "nms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms": "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
}
"""What torchvision's Python half expects its compiled half to have defined."""

_definitions: list[Any] = []
"""Kept, for the operators vanish with the library object."""


def import_swm() -> ModuleType:
    """Return the module ``stable_worldmodel``, its environments registered."""
    import_torchvision()
    with warnings.catch_warnings():
        # swm mentions the Atari games at every import; none of them is used here
        warnings.filterwarnings("ignore", message="ale-py not found")
        return _require("stable_worldmodel")


def import_torchvision() -> ModuleType:
    """Return the module ``torchvision``.

    A CPU build of torch beside a CUDA build of torchvision cannot load the compiled
    half, and its Python half then fails for two operators that it only annotates.
    They are declared here, without a body; transforms work, box operators do not.
    """
    try:
        return _require("torchvision")
    except RuntimeError as error:
        if "torchvision::" not in str(error):
            raise
    # Half imported modules would be found instead of being imported again.
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        del sys.modules[name]
    _declare_operators()
    return _require("torchvision")


def was_mended() -> bool:
    """Return whether torchvision did not match torch and was helped out."""
    return bool(_definitions)


def _declare_operators() -> None:
    import torch

    # Untyped in torch.
    make_library: Any = torch.library.Library
    library = make_library("torchvision", "FRAGMENT")
    for name, signature in _OPERATORS.items():
        if not hasattr(torch.ops.torchvision, name):
            library.define(name + signature)
    _definitions.append(library)


def _require(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise MissingExtra(
            f"Worlds and world models need {error.name}, which is not installed: "
            f'pip install "metro-wm[swm]"'
        ) from error
