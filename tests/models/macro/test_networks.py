"""Laws of the macro network, its files, and the released layout."""

import json
import re
from dataclasses import replace

import pytest
import torch
from macro_makers import SIZES, make_frozen, make_macro
from model_makers import TINY, scramble

from metro.benchmark import benchmark_names
from metro.errors import ModelError
from metro.models.key_names import to_released
from metro.models.macro.networks import MacroNetwork
from metro.models.macro.sizes import PUBLISHED, MacroSizes, macro_sizes_for
from metro.models.macro.weights import (
    load_macro,
    load_released_macro,
    save_macro,
)
from metro.models.networks import WorldModelNetwork
from metro.models.presets import PAPER, small_sizes
from metro.models.weights import count_parameters


def released_tensors(action_size=10):
    """Return tensors under the 425 names and shapes of a released checkpoint."""
    low = WorldModelNetwork(replace(PAPER, action_size=action_size))
    high = MacroNetwork(replace(PUBLISHED, action_size=action_size))
    scramble(low)
    scramble(high)
    renamed = {}
    for name, tensor in to_released(low.state_dict()).items():
        prefix = "low_" if name.startswith(("predictor.", "pred_proj.")) else ""
        renamed[prefix + name] = tensor
    return renamed | high.state_dict()


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


@pytest.mark.parametrize("action_size", [10, 25])
def test_a_released_checkpoint_loads_strictly(tmp_path, action_size):
    """425 tensors, in Lightning's wrapper: 303 in the world model, 122 in the macro."""
    tensors = released_tensors(action_size)
    assert len(tensors) == 425
    path = tmp_path / "hi_weights.ckpt"
    wrapped = {f"model.{name}": tensor for name, tensor in tensors.items()}
    torch.save({"state_dict": wrapped}, path)
    frozen, macro = load_released_macro(path, benchmark="pusht")
    macro.require_encoder(frozen)
    assert torch.equal(
        macro.network.high_predictor.pos_embedding,
        tensors["high_predictor.pos_embedding"],
    )
    assert torch.equal(
        frozen.network.predictor.pos_embedding, tensors["low_predictor.pos_embedding"]
    )
    assert (macro.latent_size, macro.action_size) == (192, action_size)
    assert load_macro(path).digest == macro.digest  # as --macro of every verb takes it


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda tensors: tensors.pop("macro_to_condition.bias"),
            "lacks 1 of 122 tensors, the first is macro_to_condition.bias. It does not "
            "fit its own configuration.",
        ),
        (
            lambda tensors: tensors.pop("low_pred_proj.net.0.bias"),
            "lacks 1 of 303 tensors, the first is pred_proj.net.0.bias. It does not "
            "fit its own configuration.",
        ),
        (
            lambda tensors: tensors.update({"macro_to_condition.bias": torch.ones(3)}),
            "has macro_to_condition.bias of shape (3,), its configuration asks for "
            "(192,).",
        ),
        (
            lambda tensors: tensors.pop("latent_action_encoder.input_proj.weight"),
            "holds no macro model: latent_action_encoder.input_proj.weight is missing. "
            "Give a checkpoint of Hi-LeWM.",
        ),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_told(tmp_path, change, message):
    """No tensor may be missing or of another shape."""
    tensors = released_tensors()
    change(tensors)
    path = tmp_path / "weights.pt"
    torch.save(tensors, path)
    with pytest.raises(ModelError, match=f"^{re.escape(f'{path} {message}')}$"):
        load_released_macro(path)


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


def test_files_bring_the_model_back(tmp_path):
    """Weights, sizes, notes and the encoder's digest survive."""
    macro = make_macro(notes={"name": "macro-x"})
    save_macro(macro, tmp_path / "m.safetensors")
    found = load_macro(tmp_path / "m.safetensors")
    assert (found.digest, found.encoder_digest) == (macro.digest, macro.encoder_digest)
    assert (found.name, found.benchmark) == ("macro-x", "tworoom")
    assert found.network.sizes == SIZES


def test_files_that_are_none_are_told(tmp_path):
    """Missing, damaged and foreign files say what to do."""
    from safetensors.torch import save

    path = tmp_path / "m.safetensors"
    with pytest.raises(
        ModelError,
        match=rf"^There is no macro model {path}: not a file or one that comes with "
        r"metro \([\w, -]+\)\. Train one: metro train-macro BENCHMARK\.$",
    ):
        load_macro(path)
    path.write_bytes(b"half")
    with pytest.raises(ModelError, match="is damaged or not a safetensors file"):
        load_macro(path)
    path.write_bytes(save({"x": torch.ones(1)}))
    with pytest.raises(ModelError, match="holds no macro model of metro"):
        load_macro(path)
    about = {"metro-macro": json.dumps({"format": 9})}
    path.write_bytes(save({"x": torch.ones(1)}, metadata=about))
    with pytest.raises(ModelError, match="has model format 9; this metro reads 1"):
        load_macro(path)


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


def test_sizes_survive_json():
    """Sizes written to a file come back equal, unknown ones are told."""
    assert MacroSizes.from_json(PUBLISHED.to_json()) == PUBLISHED
    with pytest.raises(ModelError, match=r"depht should not be there or is missing\.$"):
        MacroSizes.from_json({**PUBLISHED.to_json(), "depht": 1})
    message = "preset must be paper or small, got 'large'."
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        macro_sizes_for("large", TINY)
