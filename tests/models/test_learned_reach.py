"""A trained head as a measure of reach."""

import numpy as np
import pytest
import torch

from metro.core.latents import Latents
from metro.errors import ModelError
from metro.models.learned_reach import LearnedReach, ReachHead, load_head, save_head


@pytest.fixture
def head():
    torch.manual_seed(0)
    return ReachHead(torch.tensor([0.5, 2.0, 1.0])).eval()


def pairs(number, targets=3):
    rng = np.random.default_rng(1)
    z = rng.normal(size=(number, targets + 1, 3)).astype(np.float32)
    return z[:, 0], z[:, 1:]


def test_distances_are_those_of_the_head_one_pair_at_a_time(head):
    """m² = 2 log(1 + e^−score), by the slow way through torch."""
    origins, targets = pairs(5)
    found = LearnedReach(head)(origins, targets)
    for b, k in np.ndindex(found.shape):
        pair = torch.from_numpy(np.stack([origins[b], targets[b, k]]))[None]
        score = float(head(pair).detach())
        assert found[b, k] == pytest.approx(np.sqrt(2 * np.log1p(np.exp(-score))), 1e-5)


def test_one_latent_is_judged_as_many_are(head):
    """Batches change nothing, to the last bit."""
    origins, targets = pairs(70, targets=32)
    measure = LearnedReach(head)
    alone = [measure(origins[i : i + 1], targets[i : i + 1])[0] for i in range(70)]
    assert np.array_equal(measure(origins, targets), alone)


def test_a_head_comes_back_as_it_was_written(head, tmp_path):
    """And only for the latents that it was trained on."""
    latents = Latents(np.zeros((4, 3), dtype=np.float32), np.array([0, 2, 4]))
    path = tmp_path / "head.safetensors"
    save_head(head, path, {"latents": latents.digest})
    assert LearnedReach(load_head(path, latents)).digest == LearnedReach(head).digest
    others = Latents(np.ones((4, 3), dtype=np.float32), np.array([0, 2, 4]))
    with pytest.raises(ModelError, match="was trained on other latents"):
        load_head(path, others)
