"""The published objectives of LeWM and PLDM.

Letters: B sequences, T = 4 frames of a sequence, D latent size. Nothing is detached:
both objectives train the encoder through its targets too.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from metro.models.sigreg import sigreg

SIGREG_WEIGHT = 0.09

PLDM_WEIGHTS = {"std": 18.0, "cov": 12.0, "std_time": 0.7, "align": 0.2}
"""The terms of PLDM that have a weight; the published others have weight 0."""

# A root has no finite slope at 0, which is where collapsed latents are.
_EPSILON = 1e-4


def prediction_loss(z: Tensor, predicted: Tensor) -> Tensor:
    """Return the mean squared error of ``predicted [B, T-1, D]`` against z[:, 1:]."""
    return (predicted - z[:, 1:]).square().mean()


def lewm_terms(z: Tensor, predicted: Tensor, directions: Tensor) -> dict[str, Tensor]:
    """Return LeWM's weighted terms: prediction + 0.09 SIGReg.

    Args:
        z: ``[B, T, D]`` latents.
        predicted: ``[B, T-1, D]`` prediction of z[:, 1:].
        directions: ``[D, P]`` of `metro.models.sigreg`.
    """
    return {
        "prediction": prediction_loss(z, predicted),
        "sigreg": SIGREG_WEIGHT * sigreg(z, directions),
    }


def pldm_terms(z: Tensor, predicted: Tensor) -> dict[str, Tensor]:
    """Return PLDM's weighted terms: prediction, variances, covariance, alignment.

    Args:
        z: ``[B, T, D]`` latents.
        predicted: ``[B, T-1, D]`` prediction of z[:, 1:].
    """
    centred = z - z.mean(0, keepdim=True)
    terms = {
        "std": spread_loss(centred),
        "cov": covariance_loss(centred),
        "std_time": spread_loss(centred.transpose(0, 1)),
        "align": (z[:, :-1] - z[:, 1:]).square().mean(),
    }
    weighted = {name: PLDM_WEIGHTS[name] * term for name, term in terms.items()}
    return {"prediction": prediction_loss(z, predicted), **weighted}


def spread_loss(z: Tensor) -> Tensor:
    """Return the mean of max(0, 1 - sqrt(var + 1e-4)), unbiased variance over axis 0.

    Args:
        z: ``[samples, groups, D]``.
    """
    return torch.relu(1 - (z.var(dim=0) + _EPSILON).sqrt()).mean()


def covariance_loss(z: Tensor) -> Tensor:
    """Return the mean squared off-diagonal covariance, over axis 0 of centred z.

    Args:
        z: ``[samples, groups, D]``.
    """
    size = z.shape[2]
    by_group = z.transpose(0, 1)
    covariance = by_group.transpose(1, 2) @ by_group / (len(z) - 1)
    diagonal = covariance.diagonal(dim1=1, dim2=2).square().sum(1)
    off_diagonal = covariance.square().sum((1, 2)) - diagonal
    return (off_diagonal / (size**2 - size)).mean()


def total(terms: Mapping[str, Tensor]) -> Tensor:
    """Return the sum of weighted terms."""
    return torch.stack(list(terms.values())).sum()
