"""Gaps between frames a fixed number of steps apart."""

import numpy as np
import pytest

from metro.kernels.neighbours.gaps import gaps_between
from metro.kernels.neighbours.pairs import gaps_apart


@pytest.fixture
def rows():
    """Ten rows, two of them zero and two alike."""
    z = np.random.default_rng(2).standard_normal((10, 16)).astype(np.float32)
    z[3] = z[4] = 0
    z[7] = z[5]
    return z


@pytest.mark.parametrize("separation", [1, 2, 9])
def test_gaps_are_those_of_the_core(rows, separation):
    """Every pair of rows so far apart has the gap that NumPy gives, bit for bit."""
    gaps = np.full(10 - separation, np.nan)
    gaps_apart(rows, separation, 0, len(gaps), gaps)
    expected = gaps_between(rows[separation:], rows[:-separation])
    np.testing.assert_array_equal(gaps, expected)


def test_equal_rows_have_no_gap(rows):
    """Zero rows and equal rows are exactly zero apart, and no others are."""
    gaps = np.full((2, 9), np.nan)
    gaps_apart(rows, 1, 0, 9, gaps[0])
    gaps_apart(rows, 2, 0, 8, gaps[1])
    assert np.flatnonzero(gaps[0] == 0).tolist() == [3]
    assert np.flatnonzero(gaps[1] == 0).tolist() == [5]


def test_only_the_rows_asked_for_are_written(rows):
    """Outside first ... last - 1 nothing is touched, and an empty range writes none."""
    gaps = np.full(9, -1.0)
    gaps_apart(rows, 1, 5, 5, gaps)
    assert (gaps == -1).all()
    gaps_apart(rows, 1, 5, 7, gaps)
    assert np.flatnonzero(gaps != -1).tolist() == [5, 6]
