"""The latent gap, summed in one fixed order so that every engine gets the same bits."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.types import Gaps

LANES = 8
"""Partial sums of a squared gap: coordinate j goes to sum j mod 8. Decision: D9."""

_BLOCK = 8_192


def squared_gaps(a: NDArray[Any], b: NDArray[Any]) -> Gaps:
    """Return the squared gap of each row of ``a`` to the same row of ``b``.

    δ² = Σ_j (a_j − b_j)², in float64, over eight interleaved partial sums.

    Args:
        a: ``[P, D]``.
        b: ``[P, D]``, or ``[D]`` for one row against all of ``a``.

    Returns:
        ``[P]`` float64.
    """
    result = np.empty(len(a))
    # In blocks: float64 differences of all rows would take twice the rows' memory.
    for start in range(0, len(a), _BLOCK):
        rows = slice(start, start + _BLOCK)
        other = b if b.ndim == 1 else b[rows]
        result[rows] = _sum_of_squares(np.subtract(a[rows], other, dtype=np.float64))
    return result


def gaps_of_pairs(
    a: NDArray[Any],
    rows_a: NDArray[np.integer[Any]],
    b: NDArray[Any],
    rows_b: NDArray[np.integer[Any]],
) -> Gaps:
    """Return ``[P]`` gaps of ``a[rows_a]`` to ``b[rows_b]``, block by block."""
    result = np.empty(len(rows_a))
    for start in range(0, len(rows_a), _BLOCK):
        part = slice(start, start + _BLOCK)
        result[part] = gaps_between(a[rows_a[part]], b[rows_b[part]])
    return result


def gaps_between(a: NDArray[Any], b: NDArray[Any]) -> Gaps:
    """Return the gap δ = ‖a − b‖₂ of each pair of rows; shapes as `squared_gaps`."""
    return np.sqrt(squared_gaps(a, b))


def _sum_of_squares(difference: Gaps) -> Gaps:
    squares = difference * difference
    sums = np.zeros((len(squares), LANES))
    for start in range(0, squares.shape[1], LANES):
        lane = squares[:, start : start + LANES]
        sums[:, : lane.shape[1]] += lane
    # Pairwise, in the one order that D9 fixes and the kernels repeat.
    low, high = sums[:, 0::2], sums[:, 1::2]
    pairs = low + high
    return np.asarray((pairs[:, 0] + pairs[:, 1]) + (pairs[:, 2] + pairs[:, 3]))
