"""Laws of SIGReg; its formula and its gradient are held to in `test_losses`."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from metro.models.sigreg import draw_directions, sigreg


@pytest.fixture
def z():
    return torch.randn(40, 3, 6, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def directions():
    return draw_directions(6, 5, torch.Generator().manual_seed(1))


def integrate_exactly(y):
    """B ∫ |mean exp(i t y) - exp(-t² / 2)|² exp(-t² / 2) dt, in closed form."""
    pairs = np.exp(-np.square(y[:, None] - y[None]) / 2).mean() * np.sqrt(2 * np.pi)
    singles = np.exp(-np.square(y) / 4).mean() * np.sqrt(np.pi)
    return len(y) * (pairs - 2 * singles + np.sqrt(2 * np.pi / 3))


@pytest.mark.parametrize(("scale", "shift"), [(1, 0), (0.3, 0), (1, 1), (2, -1)])
def test_sigreg_is_close_to_the_integral(z, scale, shift):
    """Seventeen knots come within three percent of the integral over all of t."""
    y = (scale * z[:, :1, :1] + shift).double()
    found = sigreg(y, torch.ones(1, 1, dtype=torch.float64))
    assert_allclose(found, integrate_exactly(y.flatten().numpy()), rtol=0.03)


def test_sigreg_is_a_mean_over_time_and_directions(z, directions):
    """Every moment and every direction has its own statistic and the same weight."""
    parts = [
        sigreg(z[:, t : t + 1], directions[:, p : p + 1])
        for t in range(3)
        for p in range(5)
    ]
    assert_allclose(sigreg(z, directions), np.mean(parts), rtol=1e-5)


def test_sigreg_is_a_statistic_of_the_set(z, directions):
    """Neither the order of a batch nor the sign of a direction matters."""
    expected = sigreg(z, directions)
    assert_allclose(sigreg(z.flip(0), directions), expected, rtol=1e-5)
    assert_allclose(sigreg(z, -directions), expected, rtol=1e-5)


def test_a_batch_repeated_counts_twice(z, directions):
    """The statistic grows with the evidence: B times a distance."""
    twice = sigreg(torch.cat([z, z]), directions)
    assert_allclose(twice, 2 * sigreg(z, directions), rtol=1e-5)


def test_directions_follow_their_seed():
    """The same seed draws the same directions, the next draw draws others."""
    first, again = (torch.Generator().manual_seed(3) for _ in range(2))
    drawn = draw_directions(6, 5, first)
    assert torch.equal(drawn, draw_directions(6, 5, again))
    assert not torch.equal(drawn, draw_directions(6, 5, first))
