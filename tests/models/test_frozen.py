"""Laws of `metro.models.frozen`."""

import re

import numpy as np
import pytest
import torch
from model_makers import make_model
from numpy.testing import assert_allclose, assert_array_equal

from metro.errors import ModelError
from metro.models.action_stats import ActionStats
from metro.models.frozen import check_health, effective_rank
from metro.models.loading import load_model
from metro.types import WorldModel


@pytest.fixture(scope="module")
def model():
    """A tiny model with random weights."""
    return make_model(
        action_stats=ActionStats([0.5, -1.0], [2.0, 0.5]), notes={"name": "tiny"}
    )


@pytest.fixture
def frames():
    """Five random frames."""
    return np.random.default_rng(0).integers(256, size=(5, 16, 16, 3), dtype=np.uint8)


def test_it_is_a_world_model(model):
    """A frozen model has all that the protocol asks for."""
    kept: WorldModel = model
    members = set(WorldModel.__annotations__) | {"encode", "rollout"}
    assert all(hasattr(kept, name) for name in members)


def test_frames_do_not_influence_one_another(model, frames):
    """A frame has one latent, alone or in company: evaluation mode."""
    together = model.encode(frames)
    assert together.shape == (5, 8)
    assert together.dtype == np.float32
    assert_allclose(model.encode(frames[3:4]), together[3:4], atol=1e-6)


@pytest.mark.parametrize("benchmark", ["tworoom", "reacher", "state-pusht"])
def test_company_changes_no_bit_of_a_latent(benchmark):
    """Kernels for few rows sum otherwise; what they would change is not let through."""
    model = load_model(f"lewm-small-{benchmark}")
    edge = model.image_size
    shape = (40, edge, edge, 3)
    frames = np.random.default_rng(0).integers(256, size=shape, dtype=np.uint8)
    together = model.encode(frames)
    for number in range(1, 20):
        assert_array_equal(model.encode(frames[-number:]), together[-number:])


def test_pieces_change_no_bit_of_a_prediction():
    """Many rows are unrolled piece by piece, so that they stay in the cache."""
    model = load_model("lewm-small-tworoom")
    rng = np.random.default_rng(0)
    z = rng.normal(size=(3_700, 64)).astype(np.float32)
    blocks = rng.normal(size=(3_700, 2, 10)).astype(np.float32)
    together = model.rollout(z, blocks)
    for rows in (slice(0, 300), slice(1_100, 1_400), slice(2_000, 3_500)):
        assert_array_equal(model.rollout(z[rows], blocks[rows]), together[rows])


def test_torch_in_torch_out(model, frames):
    """Tensors give tensors, the same numbers, and no gradients."""
    found = model.encode(torch.from_numpy(frames))
    assert isinstance(found, torch.Tensor)
    assert not found.requires_grad
    assert_array_equal(found.numpy(), model.encode(frames))


def test_no_frames_no_latents(model, frames):
    """An empty batch is not an error."""
    assert model.encode(frames[:0]).shape == (0, 8)


def test_memory_maps_are_encoded(model, frames, tmp_path):
    """Read-only frames straight from a file are fine."""
    np.save(tmp_path / "frames.npy", frames)
    mapped = np.load(tmp_path / "frames.npy", mmap_mode="r")
    assert_array_equal(model.encode(mapped), model.encode(frames))


def test_a_rollout_is_repeated_prediction(model):
    """The context grows 1, 2, 3, 3: each step is the last token of `predict`."""
    rng = np.random.default_rng(0)
    z = rng.normal(size=(4, 8)).astype(np.float32)
    actions = rng.normal(size=(4, 5, 10)).astype(np.float32)
    found = model.rollout(z, actions)
    known = [torch.from_numpy(z)]
    for step in range(5):
        context = torch.stack(known[max(0, step - 2) :], dim=1)
        blocks = torch.from_numpy(actions[:, max(0, step - 2) : step + 1])
        known.append(model.network.predict(context, blocks)[:, -1])
    assert_allclose(found, torch.stack(known[1:], dim=1).numpy(), atol=1e-5)


def test_a_shorter_plan_is_a_prefix(model):
    """What happens first does not depend on what is planned later."""
    z = np.ones((2, 8), dtype=np.float32)
    actions = np.random.default_rng(0).normal(size=(2, 5, 10)).astype(np.float32)
    assert_allclose(
        model.rollout(z, actions[:, :2]), model.rollout(z, actions)[:, :2], atol=1e-6
    )


def test_wrong_frames_are_told(model, frames):
    """Another size or type of frames is refused with both."""
    message = "tiny encodes uint8 frames [N, 16, 16, 3], got uint8 of [5, 8, 8, 3]."
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        model.encode(frames[:, :8, :8])
    message = "tiny encodes uint8 frames [N, 16, 16, 3], got float64 of [5, 16, 16, 3]."
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        model.encode(frames / 255)


def test_wrong_actions_are_told(model):
    """Blocks of another benchmark are refused with both sizes."""
    message = (
        "tiny rolls out latents [B, 8] with actions [B, T, 10], "
        "got [1, 8] and [1, 3, 25]."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        model.rollout(np.zeros((1, 8)), np.zeros((1, 3, 25)))


def test_the_digest_is_of_the_weights(model):
    """Equal weights have equal digests, one changed bit another."""
    assert make_model().digest == model.digest
    other = make_model()
    other.network.projector.net[3].bias[0] += 1
    from metro.models.frozen import digest_of

    assert digest_of(other.network) != model.digest


def test_health_tells_collapse():
    """Isotropic latents are healthy; nearly equal ones are collapsed."""
    rng = np.random.default_rng(0)
    healthy = check_health(rng.normal(size=(500, 16)))
    assert abs(healthy.cosine) < 0.05
    assert healthy.effective_rank > 14
    assert not healthy.is_collapsed
    assert abs(healthy.mean_norm - 4) < 0.2
    assert check_health(5 + 0.01 * rng.normal(size=(500, 16))).is_collapsed
    assert check_health(np.zeros((500, 16))).is_collapsed


@pytest.mark.parametrize("rank", [1, 3, 8])
def test_effective_rank_counts_directions(rank):
    """r equally strong directions have effective rank r."""
    scale = np.where(np.arange(8) < rank, 1.0, 0.0)
    z = np.random.default_rng(0).normal(size=(20_000, 8)) * scale
    assert effective_rank(z) == pytest.approx(rank, rel=0.01)
