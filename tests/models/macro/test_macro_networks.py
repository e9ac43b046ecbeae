"""Laws of the macro network, its files, and the released layout."""

import re
from dataclasses import replace

import pytest
import torch
from macro_makers import make_macro
from model_makers import TINY

from metro.benchmark import benchmark_names
from metro.errors import ModelError
from metro.models.macro.macro_networks import MacroNetwork
from metro.models.macro.sizes import PUBLISHED, MacroSizes, macro_sizes_for
from metro.models.presets import small_sizes
from metro.models.weights import count_parameters


def test_the_published_sizes_have_the_released_tensors():
    """122 tensors and 12.49 M parameters, part by part as released."""
    network = MacroNetwork(PUBLISHED)
    assert len(network.state_dict()) == 122
    parts = {
        "latent_action_encoder": (30, 901_280),
        "macro_to_condition": (2, 6_336),
        "high_predictor": (81, 10_791_552),
        "high_pred_proj": (9, 792_768),
    }
    for name, (tensors, parameters) in parts.items():
        part = getattr(network, name)
        assert (len(part.state_dict()), count_parameters(part)) == (tensors, parameters)
    cube = MacroNetwork(replace(PUBLISHED, action_size=25))
    assert count_parameters(cube.latent_action_encoder) == 904_160


def test_padding_changes_nothing():
    """A macro action has one code, however long the others in its batch are."""
    network = make_macro().network
    blocks = torch.randn(3, 2, 9, 10)
    lengths = torch.tensor([[1, 2], [3, 9], [5, 4]])
    is_padding = torch.arange(9) >= lengths[..., None]
    blocks[is_padding] = 100.0
    codes = network.encode(blocks, is_padding)
    assert codes.shape == (3, 2, 4)
    for row in range(3):
        for column in range(2):
            length = lengths[row, column]
            alone = network.latent_action_encoder(
                blocks[row, column, None, :length],
                torch.zeros(1, length, dtype=torch.bool),
            )
            torch.testing.assert_close(codes[row, column], alone[0])


def test_predictions_do_not_look_ahead():
    """Token i depends on waypoints and macro actions up to i alone."""
    network = make_macro().network
    z, actions = torch.randn(2, 4, 8), torch.randn(2, 4, 4)
    before = network.predict(z, actions)
    assert before.shape == (2, 4, 8)
    z[:, 3], actions[:, 3] = 9.0, 9.0
    after = network.predict(z, actions)
    torch.testing.assert_close(after[:, :3], before[:, :3])
    assert not torch.allclose(after[:, 3], before[:, 3])


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_rollouts_feed_predictions_back(steps):
    """The context grows from one latent to as many as there are macro steps."""
    macro = make_macro()
    z, actions = torch.randn(5, 8), torch.randn(5, steps, 4)
    context = z[:, None]
    for step in range(steps):
        after = macro.network.predict(context, actions[:, : step + 1])
        context = torch.cat([context, after[:, -1:]], dim=1)
    found = macro.rollout(z, actions)
    torch.testing.assert_close(found, context[:, 1:], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("benchmark", benchmark_names())
def test_small_macro_models_fit_into_eight_megabytes(benchmark):
    """A shipped macro file is at most 8 MB of float32."""
    low = replace(small_sizes(benchmark), action_size=25)
    network = MacroNetwork(macro_sizes_for("small", low))
    assert 4 * sum(one.numel() for one in network.state_dict().values()) <= 8_000_000


def test_sizes_survive_json():
    """Sizes written to a file come back equal, unknown ones are told."""
    assert MacroSizes.from_json(PUBLISHED.to_json()) == PUBLISHED
    with pytest.raises(ModelError, match=r"depht should not be there or is missing\.$"):
        MacroSizes.from_json({**PUBLISHED.to_json(), "depht": 1})
    message = "preset must be paper or small, got 'large'."
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        macro_sizes_for("large", TINY)
