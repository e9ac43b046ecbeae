"""Names of tensors: as released (transformers 4), and as transformers 5.9 has them."""

import re
from collections.abc import Mapping
from typing import TypeVar

from metro.errors import ModelError, shortened

Value = TypeVar("Value")

_LAYER = "encoder.encoder.layer.", "encoder.layers."

_PARTS = {
    "attention.attention.query": "attention.q_proj",
    "attention.attention.key": "attention.k_proj",
    "attention.attention.value": "attention.v_proj",
    "attention.output.dense": "attention.o_proj",
    "intermediate.dense": "mlp.fc1",
    "output.dense": "mlp.fc2",
    "layernorm_before": "layernorm_before",
    "layernorm_after": "layernorm_after",
}
"""Parts of a ViT layer: released name -> name since transformers 5.9."""

_WRAPPERS = ("state_dict", "model")
_PREFIXES = ("model.", "module.")


def to_released(tensors: Mapping[str, Value]) -> dict[str, Value]:
    """Return the tensors under their released names; other names stay."""
    parts = {new: old for old, new in _PARTS.items()}
    return _renamed(tensors, (_LAYER[1], _LAYER[0]), parts)


def to_installed(
    tensors: Mapping[str, Value], expected: Mapping[str, object]
) -> dict[str, Value]:
    """Return the tensors under the names of the installed transformers.

    Args:
        tensors: Under either names.
        expected: The state dict of a network built here.
    """
    # By way of the released names, so that files of either version load.
    released = to_released(tensors)
    if any(name.startswith(_LAYER[1]) for name in expected):
        return _renamed(released, _LAYER, _PARTS)
    return released


def unwrapped(contents: Mapping[str, object]) -> dict[str, object]:
    """Return the flat state dict inside usual wrappers and prefixes."""
    for wrapper in _WRAPPERS:
        inner = contents.get(wrapper)
        if isinstance(inner, Mapping):
            return unwrapped(inner)
    for prefix in _PREFIXES:
        # all() of nothing is true, and unwrapping nothing would never end.
        if contents and all(str(name).startswith(prefix) for name in contents):
            return unwrapped(
                {str(name).removeprefix(prefix): one for name, one in contents.items()}
            )
    return dict(contents)


def _renamed(
    tensors: Mapping[str, Value], layer: tuple[str, str], parts: Mapping[str, str]
) -> dict[str, Value]:
    old, new = layer
    pattern = re.compile(re.escape(old) + r"(\d+)\.(.+)\.(weight|bias)")
    renamed: dict[str, Value] = {}
    for name, value in tensors.items():
        match = pattern.fullmatch(name)
        if match and match[2] in parts:
            name = f"{new}{match[1]}.{parts[match[2]]}.{match[3]}"
        # A file with both namings would lose one of the tensors, by order alone.
        if name in renamed:
            raise ModelError(f"The weights hold {shortened(name)} under two names.")
        renamed[name] = value
    return renamed
