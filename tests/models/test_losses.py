"""Laws of the published objectives: each equals an obvious slow version."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from metro.models.losses import (
    PLDM_WEIGHTS,
    SIGREG_WEIGHT,
    lewm_terms,
    pldm_terms,
    total,
)
from metro.models.sigreg import draw_directions, sigreg

B, T, D = 12, 4, 5


@pytest.fixture
def latents():
    """Latents [B, T, D] of another scale and place, and predictions."""
    rng = np.random.default_rng(0)
    z = rng.normal(0.3, 1.5, size=(B, T, D))
    return z, z[:, 1:] + rng.normal(size=(B, T - 1, D))


def tensor(array):
    return torch.tensor(array, dtype=torch.float32)


def slow_sigreg(z, directions):
    """The formula of `sigreg`, one number at a time."""
    knots = np.linspace(0, 3, 17)
    statistics = []
    for t in range(z.shape[1]):
        for direction in directions.T:
            y = z[:, t] @ direction
            value = 0.0
            for k, knot in enumerate(knots):
                target = np.exp(-(knot**2) / 2)
                weight = (3 / 16 if k in (0, 16) else 2 * 3 / 16) * target
                real = np.mean([np.cos(knot * one) for one in y]) - target
                imaginary = np.mean([np.sin(knot * one) for one in y])
                value += weight * (real**2 + imaginary**2)
            statistics.append(len(y) * value)
    return np.mean(statistics)


def slow_pldm(z, predicted):
    """The table of the reference, one number at a time; weighted."""
    centred = z - z.mean(axis=0)
    std = [
        max(0, 1 - np.sqrt(centred[:, t, d].var(ddof=1) + 1e-4))
        for t in range(T)
        for d in range(D)
    ]
    std_time = [
        max(0, 1 - np.sqrt(centred[b, :, d].var(ddof=1) + 1e-4))
        for b in range(B)
        for d in range(D)
    ]
    cov = []
    for t in range(T):
        matrix = centred[:, t].T @ centred[:, t] / (B - 1)
        off = [matrix[i, j] ** 2 for i in range(D) for j in range(D) if i != j]
        cov.append(sum(off) / (D * D - D))
    align = np.mean([(z[b, t] - z[b, t + 1]) ** 2 for b in range(B) for t in range(3)])
    return {
        "prediction": np.mean((predicted - z[:, 1:]) ** 2),
        "std": 18 * np.mean(std),
        "cov": 12 * np.mean(cov),
        "std_time": 0.7 * np.mean(std_time),
        "align": 0.2 * align,
    }


def test_sigreg_equals_its_formula(latents):
    """The rotated knots give the statistic of the formula."""
    directions = draw_directions(D, 7, torch.Generator().manual_seed(1))
    found = sigreg(tensor(latents[0]), directions)
    assert_allclose(found, slow_sigreg(latents[0], directions.numpy()), rtol=1e-5)


def test_the_gradient_of_sigreg_is_its_derivative(latents):
    """The gradient computed on the way equals finite differences, in float64."""
    directions = draw_directions(D, 3, torch.Generator().manual_seed(1)).double()
    z = torch.tensor(latents[0], requires_grad=True)
    assert torch.autograd.gradcheck(lambda x: sigreg(x, directions), z)


def test_sigreg_is_small_for_gaussians_and_large_for_points():
    """Standard normal latents score about 1, equal latents about the batch."""
    generator = torch.Generator().manual_seed(0)
    directions = draw_directions(8, 64, generator)
    normal = torch.randn(1024, 4, 8, generator=generator)
    assert sigreg(normal, directions) < 2
    assert sigreg(torch.zeros(1024, 4, 8), directions) > 100


def test_directions_have_length_one():
    """Every projection is onto a unit vector."""
    directions = draw_directions(9, 20, torch.Generator().manual_seed(0))
    assert_allclose(directions.norm(dim=0), np.ones(20), rtol=1e-6)


def test_lewm_is_prediction_and_sigreg(latents):
    """LeWM's loss is the mean squared error plus 0.09 SIGReg."""
    z, predicted = map(tensor, latents)
    directions = draw_directions(D, 7, torch.Generator().manual_seed(1))
    terms = lewm_terms(z, predicted, directions)
    expected = np.mean((latents[1] - latents[0][:, 1:]) ** 2)
    assert SIGREG_WEIGHT == 0.09
    assert_allclose(terms["prediction"], expected, rtol=1e-5)
    assert_allclose(terms["sigreg"], 0.09 * sigreg(z, directions), rtol=1e-6)
    assert_allclose(total(terms), terms["prediction"] + terms["sigreg"], rtol=1e-6)


@pytest.mark.parametrize("scale", [0.3, 1.5])
def test_pldm_equals_its_table(latents, scale):
    """Every weighted term of PLDM equals the slow version, hinges open or shut."""
    z, predicted = (scale * array for array in latents)
    found = pldm_terms(tensor(z), tensor(predicted))
    expected = slow_pldm(z, predicted)
    assert list(found) == list(expected)
    for name, value in expected.items():
        assert_allclose(found[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


def test_pldm_has_the_published_weights():
    """18, 12, 0.7 and 0.2."""
    assert list(PLDM_WEIGHTS.values()) == [18.0, 12.0, 0.7, 0.2]


def test_targets_are_not_detached(latents):
    """The encoder learns through what is predicted, too."""
    z = tensor(latents[0]).requires_grad_()
    lewm_terms(z, tensor(latents[1]), torch.eye(D))["prediction"].backward()
    assert z.grad[:, 1:].abs().min() > 0
