"""The reach of a world model, and the constants that its recordings give."""

import numpy as np
import pytest
import torch
from model_makers import make_model

from metro.core.latents import Latents
from metro.errors import ModelError
from metro.models.action_stats import ActionStats
from metro.models.reach_measure import ModelReach, attach_reach, fit_reach

STATS = ActionStats(np.zeros(1), np.ones(1))


class Cart:
    """Actions move the first coordinate; the second drifts by a fixed error."""

    action_size, action_block = 1, 2

    def __init__(self, error=0.1):
        self.error = error

    def rollout(self, z, actions):
        moved = torch.as_tensor(z)[:, None].repeat(1, actions.shape[1], 1)
        steps = torch.as_tensor(actions).sum(dim=-1).cumsum(dim=1)
        moved[..., 0] += steps
        moved[..., 1] += self.error
        return moved if isinstance(z, torch.Tensor) else moved.numpy()


def recording(episodes=6, length=20):
    rng = np.random.default_rng(0)
    actions = rng.normal(size=(episodes, length, 1)).astype(np.float32)
    places = np.concatenate(
        [np.zeros((episodes, 1, 1)), actions[:, :-1].cumsum(axis=1)], axis=1
    )
    z = np.concatenate([places, np.zeros_like(places)], axis=2)
    offsets = np.arange(0, episodes * length + 1, length)
    latents = Latents(z.reshape(-1, 2).astype(np.float32), offsets)
    return latents, actions.reshape(-1, 1)


def test_a_change_that_actions_make_is_nearer_than_one_that_they_cannot():
    """Aside is as far as along, but only along can be driven."""
    measure = ModelReach(Cart(error=0.0), noise=0.01)
    origin = np.zeros((1, 2), dtype=np.float32)
    along, aside = measure(origin, np.array([[[1.0, 0.0], [0.0, 1.0]]]))[0]
    assert along < 2
    assert aside > 9


def test_one_latent_is_measured_as_many_are():
    """Batches change nothing."""
    measure = ModelReach(Cart(), noise=0.01)
    rng = np.random.default_rng(1)
    origins = rng.normal(size=(5, 2)).astype(np.float32)
    targets = rng.normal(size=(5, 3, 2)).astype(np.float32)
    alone = [measure(origins[i : i + 1], targets[i : i + 1])[0] for i in range(5)]
    assert np.array_equal(measure(origins, targets), alone)


def test_a_frozen_model_is_measured_alike_alone_and_among_many():
    """Bit for bit, and as its rollouts say: batches and threads change nothing."""
    model, rng = make_model(), np.random.default_rng(1)
    measure = ModelReach(model, noise=0.01)
    origins = rng.normal(size=(70, model.latent_size)).astype(np.float32)
    targets = rng.normal(size=(70, 3, model.latent_size)).astype(np.float32)
    together = measure(origins, targets)
    alone = [measure(origins[i : i + 1], targets[i : i + 1])[0] for i in range(70)]
    assert np.array_equal(together, alone)

    class Rolled:
        """The same model, of which only the rollout is known."""

        action_size, action_block = model.action_size, model.action_block
        rollout = staticmethod(model.rollout)

    slowly = ModelReach(Rolled(), noise=0.01)(origins, targets)
    assert np.allclose(together, slowly, rtol=1e-4)


def test_the_noise_is_the_error_on_recorded_blocks():
    """Half of the two dimensions are off by 0.1."""
    found = fit_reach(*recording(), Cart(), STATS)
    assert found.noise == pytest.approx(0.1**2 / 2, rel=1e-4)
    assert found.rate == 2.0
    assert found.floor > 0


def test_a_model_without_error_is_refused():
    """Nothing could be measured against."""
    with pytest.raises(ModelError, match="without any error"):
        fit_reach(*recording(), Cart(error=0.0), STATS)


def test_episodes_must_be_longer_than_a_block():
    """There is no recorded block otherwise."""
    with pytest.raises(ModelError, match="longer than one action block"):
        fit_reach(*recording(length=2), Cart(), STATS)


def test_a_graph_priced_by_gap_needs_no_reach(rooms_graph):
    """It comes back as it is."""
    assert attach_reach(rooms_graph, Cart()) is rooms_graph
