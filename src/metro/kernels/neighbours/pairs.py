"""Gaps between frames a fixed number of steps apart, compiled."""

from numba import njit

from metro.kernels.neighbours.primitives import exact_gap


@njit(nogil=True, cache=True)
def gaps_apart(z, separation, first, last, gaps):
    """Write ‖z_{i + separation} − z_i‖₂ for rows first ... last − 1."""
    for i in range(first, last):
        gaps[i] = exact_gap(z, i + separation, z, i)
