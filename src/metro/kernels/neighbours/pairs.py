"""Gaps between frames a fixed number of steps apart, compiled."""

from metro.kernels.compiled import compiled
from metro.kernels.neighbours.primitives import exact_gap


@compiled(cached=True)
def gaps_apart(z, separation, first, last, gaps):
    """Write ‖z_{i + separation} − z_i‖₂ for rows first ... last − 1."""
    for i in range(first, last):
        gaps[i] = exact_gap(z, i + separation, z, i)
