"""SIGReg: how far random projections of a batch of latents are from N(0, 1)."""

import math
from typing import Any

import torch
from torch import Tensor

KNOTS = 17
LARGEST_KNOT = 3.0


def sigreg(z: Tensor, directions: Tensor) -> Tensor:
    """Return the Epps-Pulley statistic of z, mean over time steps and directions.

    With y = z A, knots t_k in [0, 3], φ_k = exp(-t_k² / 2) and trapezoid weights w_k
    (both halves of the even integrand) times φ_k, for each time step and direction:
    B Σ_k w_k ((mean_b cos t_k y - φ_k)² + (mean_b sin t_k y)²).

    Args:
        z: ``[B, T, D]`` latents; the statistics are over B.
        directions: ``[D, P]`` unit columns, see `draw_directions`.
    """
    projected = (z @ directions).flatten(1)
    return _Statistic.apply(projected)


def draw_directions(size: int, number: int, generator: torch.Generator) -> Tensor:
    """Return ``[size, number]`` random directions, each of length 1."""
    directions = torch.randn(size, number, generator=generator)
    return directions / directions.norm(dim=0)


class _Statistic(torch.autograd.Function):
    """The statistic of ``[B, Q]`` projections, and its gradient in the same pass.

    The knots are multiples of one gap: each cosine and sine follows from the one before
    by rotation, five times as fast as asking for them all. The knot 0 adds nothing.
    """

    @staticmethod
    def forward(ctx: Any, projected: Tensor) -> Tensor:
        """Return Σ_k w_k (...) B, mean over Q."""
        gap = LARGEST_KNOT / (KNOTS - 1)
        cosine_1, sine_1 = (projected * gap).cos(), (projected * gap).sin()
        cosine, sine = cosine_1, sine_1
        value = projected.new_zeros(())
        gradient = torch.zeros_like(projected)
        for number in range(1, KNOTS):
            knot = number * gap
            if number > 1:
                # Kept apart: the sine still needs the cosine of before the turn.
                turned = torch.addcmul(cosine * cosine_1, sine, sine_1, value=-1)
                sine = torch.addcmul(sine * cosine_1, cosine, sine_1)
                cosine = turned
            window = math.exp(-(knot**2) / 2)
            # Both halves count; the last knot ends the trapezoids, at half weight.
            weight = window * gap * (1 if number == KNOTS - 1 else 2)
            real, imaginary = cosine.mean(0) - window, sine.mean(0)
            value += weight * (real.square() + imaginary.square()).mean()
            # The factor B and the 1 / B of the means cancel.
            slope = 2 * weight * knot / projected.shape[1]
            gradient.addcmul_(cosine, imaginary, value=slope)
            gradient.addcmul_(sine, real, value=-slope)
        # One tensor; autograd would keep the cosines and sines of all knots.
        ctx.save_for_backward(gradient)
        return value * len(projected)

    @staticmethod
    def backward(ctx: Any, outer: Tensor) -> Tensor:
        """Return the gradient that `forward` computed."""
        (gradient,) = ctx.saved_tensors
        return outer * gradient
