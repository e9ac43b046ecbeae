"""Laws of `metro.models.networks` and of the presets."""

import re
from dataclasses import replace

import pytest
import torch
from model_makers import TINY, make_model

from metro.benchmark import benchmark_names
from metro.errors import ModelError
from metro.models.networks import WorldModelNetwork
from metro.models.presets import PAPER, Sizes, sizes_for
from metro.models.weights import count_parameters


def test_the_paper_preset_has_the_published_tensors():
    """303 tensors and 18,034,478 parameters, part by part as published."""
    network = WorldModelNetwork(PAPER)
    assert len(network.state_dict()) == 303
    assert count_parameters(network) == 18_034_478
    parts = {
        "encoder": 5_501_376,
        "projector": 792_768,
        "action_encoder": 156_206,
        "predictor": 10_791_360,
        "pred_proj": 792_768,
    }
    for name, number in parts.items():
        assert count_parameters(getattr(network, name)) == number, name


@pytest.mark.parametrize("benchmark", benchmark_names())
def test_small_presets_fit_into_eight_megabytes(benchmark):
    """A shipped model is at most 8 MB of float32."""
    network = WorldModelNetwork(sizes_for("small", benchmark=benchmark, action_size=5))
    assert 4 * sum(one.numel() for one in network.state_dict().values()) <= 8_000_000


@pytest.mark.parametrize("patch_size", [2, 4])
@pytest.mark.parametrize("image_size", [16, 32, 48, 64])
def test_encoders_take_every_size(patch_size, image_size):
    """Latents are [N, D] whatever the frames' size and the first stride."""
    sizes = replace(TINY, image_size=image_size, patch_size=patch_size)
    frames = torch.zeros(2, image_size, image_size, 3, dtype=torch.uint8)
    assert WorldModelNetwork(sizes).encode(frames).shape == (2, TINY.latent_size)


def test_predictions_do_not_look_ahead():
    """The prediction after frame t does not depend on later frames or actions."""
    network = make_model().network
    z, blocks = torch.randn(3, 3, 8), torch.randn(3, 3, 10)
    before = network.predict(z, blocks)
    z[:, 2], blocks[:, 2] = 9.0, 9.0
    after = network.predict(z, blocks)
    torch.testing.assert_close(after[:, :2], before[:, :2])
    assert not torch.allclose(after[:, 2], before[:, 2])


def test_a_fresh_predictor_ignores_actions():
    """Zero gates: at the start every block is the identity."""
    network = WorldModelNetwork(TINY).eval()
    z = torch.randn(2, 3, 8)
    one = network.predict(z, torch.randn(2, 3, 10))
    torch.testing.assert_close(one, network.predict(z, torch.randn(2, 3, 10)))


def test_sizes_survive_json():
    """Sizes written to a file come back equal, unknown ones are told."""
    assert Sizes.from_json(PAPER.to_json()) == PAPER
    with pytest.raises(ModelError, match=r"depht should not be there or is missing\.$"):
        Sizes.from_json({**PAPER.to_json(), "depht": 1})


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"encoder": "mlp"}, "encoder must be vit or cnn, got 'mlp'."),
        (
            {"patch_size": 3},
            "The first stride of a cnn must be 2, or 4 for a multiple of 4 pixels; "
            "got 3 for 16 pixels.",
        ),
    ],
)
def test_impossible_sizes_are_told(change, message):
    """What cannot be built says what could."""
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        WorldModelNetwork(replace(TINY, **change))


@pytest.mark.parametrize(
    ("preset", "benchmark", "message"),
    [
        ("large", "pusht", "preset must be paper or small, got 'large'."),
        (
            "small",
            "chess",
            "There is no small preset for 'chess'; choose among cube, pusht, reacher, "
            "tworoom, or give sizes of your own.",
        ),
    ],
)
def test_unknown_presets_are_told(preset, benchmark, message):
    """Wrong names list the right ones."""
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        sizes_for(preset, benchmark=benchmark, action_size=2)
