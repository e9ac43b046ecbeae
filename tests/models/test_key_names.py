"""Laws of the names of tensors."""

import re

import pytest

from metro.errors import ModelError
from metro.models.key_names import to_installed, to_released, unwrapped

OLD = (
    "encoder.encoder.layer.10.attention.attention.query.weight",
    "encoder.encoder.layer.10.attention.attention.key.bias",
    "encoder.encoder.layer.10.attention.attention.value.weight",
    "encoder.encoder.layer.10.attention.output.dense.weight",
    "encoder.encoder.layer.10.intermediate.dense.weight",
    "encoder.encoder.layer.10.output.dense.bias",
    "encoder.encoder.layer.10.layernorm_before.weight",
    "encoder.encoder.layer.10.layernorm_after.bias",
    "encoder.layernorm.weight",
    "projector.net.0.weight",
)
NEW = (
    "encoder.layers.10.attention.q_proj.weight",
    "encoder.layers.10.attention.k_proj.bias",
    "encoder.layers.10.attention.v_proj.weight",
    "encoder.layers.10.attention.o_proj.weight",
    "encoder.layers.10.mlp.fc1.weight",
    "encoder.layers.10.mlp.fc2.bias",
    "encoder.layers.10.layernorm_before.weight",
    "encoder.layers.10.layernorm_after.bias",
    "encoder.layernorm.weight",
    "projector.net.0.weight",
)


def numbered(names):
    return {name: number for number, name in enumerate(names)}


def test_each_name_has_its_twin():
    """The table of renames is followed in both directions."""
    assert to_released(numbered(NEW)) == numbered(OLD)
    assert to_installed(numbered(OLD), numbered(NEW)) == numbered(NEW)


def test_names_that_fit_stay():
    """Weights under the right names already are not changed."""
    assert to_released(numbered(OLD)) == numbered(OLD)
    assert to_installed(numbered(NEW), numbered(NEW)) == numbered(NEW)
    assert to_installed(numbered(NEW), numbered(OLD)) == numbered(OLD)


def test_a_tensor_under_both_names_is_refused():
    """Neither of two tensors that mean the same silently wins."""
    message = f"The weights hold {OLD[0]} under two names."
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        to_released({OLD[0]: 1, NEW[0]: 2})


@pytest.mark.parametrize("wrapper", ["state_dict", "model"])
@pytest.mark.parametrize("prefix", ["", "model.", "module.", "module.model."])
def test_wrappers_and_prefixes_fall(wrapper, prefix):
    """Usual wrappers and prefixes are taken off, in any combination."""
    flat = {f"{prefix}{name}": number for name, number in numbered(OLD).items()}
    assert unwrapped(flat) == numbered(OLD)
    assert unwrapped({wrapper: flat, "epoch": 3}) == numbered(OLD)
