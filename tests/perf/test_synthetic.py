"""Synthetic latents: seeded, cut to size, with a wall between two rooms."""

import numpy as np
import pytest

from metro.errors import LatentsError
from perf.synthetic import make_latents, make_states


def test_synthetic_latents_are_seeded_and_cut_to_size():
    """The same seed gives the same rows; noise and dimensions are as asked."""
    for state_dim in (2, 5, 8):
        latents = make_latents(250, state_dim=state_dim, episode_length=100, dim=32)
        again = make_latents(250, state_dim=state_dim, episode_length=100, dim=32)
        assert latents.digest == again.digest
        assert latents.episode_lengths.tolist() == [100, 100, 50]
        assert latents.dim == 32
    noisy = make_latents(250, state_dim=8, episode_length=100, dim=32, noise=0.5)
    assert np.std(noisy.z - latents.z) == pytest.approx(0.5, rel=0.05)
    assert np.abs(make_states(3, 50, state_dim=6)).max() <= 1
    with pytest.raises(LatentsError, match="^state_dim must be 2 or at least 5, got 3"):
        make_latents(10, state_dim=3)


def test_synthetic_rooms_have_a_wall():
    """Between rooms every path passes the door around y = 0."""
    states = make_states(200, 90, state_dim=2, seed=1)
    crossing = np.sign(states[:, 1:, 0]) != np.sign(states[:, :-1, 0])
    assert crossing.sum() > 50
    assert np.abs(states[:, 1:][crossing][:, 1]).max() < 0.3
