"""Eight lanes of the vector code add up in the order of `kernels.neighbours.gaps`."""

import numpy as np
import pytest
from numba import njit

from metro.kernels.neighbours.gaps import squared_gaps
from metro.kernels.neighbours.lanes import exact_squared_gap


@njit
def measure(a, i, b, j):
    return exact_squared_gap(a, i, b, j)


def slow(x, y):
    """Return the squared gap, number by number, lanes paired up at the end."""
    sums = [0.0] * 8
    for t, (one, other) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        sums[t % 8] += (one - other) * (one - other)
    while len(sums) > 1:
        sums = [left + right for left, right in zip(sums[::2], sums[1::2], strict=True)]
    return sums[0]


@pytest.mark.parametrize("width", [8, 16, 192])
@pytest.mark.parametrize("kinds", [("f4", "f4"), ("f8", "f8"), ("f4", "f8")])
def test_the_same_bits_as_one_number_after_another(width, kinds):
    """Of float32 rows, float64 rows and one of each, every bit is the slow sum's."""
    rng = np.random.default_rng(width)
    a, b = (rng.standard_normal((5, width)).astype(kind) for kind in kinds)
    for i in range(5):
        for j in range(5):
            assert measure(a, i, b, j) == slow(a[i], b[j])


def test_the_same_bits_as_the_core():
    """Kernel and NumPy engine agree in every bit, rows of very unequal size too."""
    rng = np.random.default_rng(0)
    a = (rng.standard_normal((40, 24)) * 10 ** rng.uniform(-6, 6, (40, 24))).astype(
        "f4"
    )
    found = [measure(a, i, a, 3) for i in range(40)]
    np.testing.assert_array_equal(found, squared_gaps(a, a[3]))


def test_rows_need_no_alignment():
    """A view that starts in the middle of a register is measured like a copy."""
    flat = np.random.default_rng(1).standard_normal(1 + 3 * 8).astype("f4")
    rows = flat[1:].reshape(3, 8)
    assert measure(rows, 0, rows, 2) == slow(rows[0], rows[2]) > 0


def test_a_row_is_nowhere_from_itself():
    """The gap to an equal row is exactly zero, as is that of two zero rows."""
    rows = np.float32([[0.1] * 8, [0.1] * 8, [0] * 8, [-0.0] * 8])
    assert measure(rows, 0, rows, 1) == measure(rows, 2, rows, 3) == 0
    assert measure(rows, 0, rows, 2) > 0
