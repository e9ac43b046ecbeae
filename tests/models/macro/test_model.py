"""Laws of macro models that are no longer trained."""

import re
from dataclasses import replace

import pytest
import torch
from macro_makers import SIZES, make_frozen, make_macro

from metro.errors import ModelError


def test_another_encoder_is_told():
    """A macro model predicts the latents of one encoder only."""
    macro, model = make_macro(), make_frozen()
    macro.require_encoder(model)
    other = make_macro(encoder_digest="f" * 64)
    message = (
        f"macro-tworoom was trained on latents of model ffffffffffff, not of "
        f"lewm-tworoom ({model.digest[:12]}). Train one: metro train-macro."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        other.require_encoder(model)
    wide = make_macro(sizes=replace(SIZES, latent_size=16))
    message = (
        "macro-tworoom predicts latents of 16 numbers, lewm-tworoom has 8. "
        "Train it: metro train-macro."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        wide.require_encoder(model)


def test_wrong_shapes_are_told():
    """Rollouts and chunks say what they take and what they got."""
    macro = make_macro()
    message = (
        "macro-tworoom rolls out latents [B, 8] with macro actions [B, n, 4], "
        "got [2, 9] and [2, 1, 4]."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        macro.rollout(torch.zeros(2, 9), torch.zeros(2, 1, 4))
    message = "macro-tworoom predicts at most 4 macro steps, got 5."
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        macro.rollout(torch.zeros(2, 8), torch.zeros(2, 5, 4))
    message = (
        "macro-tworoom encodes normalised action blocks [B, L, 10], got [2, 5, 4]."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        macro.encode(torch.zeros(2, 5, 4))
