"""Laws of pickled models, damaged ones."""

import pytest
import torch
from torch import nn

from metro.errors import ModelError
from metro.models.pickles import read_pickle


def with_parts(**more):
    """Return a module with all parts of a LeWM, none of which is one."""
    names = ("encoder", "predictor", "action_encoder", "projector", "pred_proj")
    return nn.ModuleDict({name: nn.Linear(1, 1) for name in names} | more)


@pytest.mark.parametrize("contents", [3, {}, nn.Linear(1, 1), with_parts()])
def test_what_is_no_model_is_one_line(tmp_path, contents):
    """Without parts, attention or tensors: a `ModelError` that names the file."""
    torch.save(contents, tmp_path / "a.ckpt")
    with pytest.raises(ModelError) as caught:
        read_pickle(tmp_path / "a.ckpt")
    assert str(caught.value).startswith(f"{tmp_path / 'a.ckpt'} ")
    assert "\n" not in str(caught.value)


def test_a_missing_package_is_one_line(tmp_path):
    """A pickle of a class that nobody has says which."""
    (tmp_path / "a.ckpt").write_bytes(b"cno_such_package\nThing\n.")
    with pytest.raises(ModelError, match="cannot be read"):
        read_pickle(tmp_path / "a.ckpt")
