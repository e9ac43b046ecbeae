"""Gaps: the distance, in one order of summation that every engine shares."""

import numpy as np
import oracles
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metro.kernels.neighbours.gaps import gaps_between, gaps_of_pairs, squared_gaps


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 40), st.integers(0, 10**6))
def test_a_gap_is_the_euclidean_distance(dim, seed):
    """In any dimension, also one that is no multiple of eight."""
    a, b = np.random.default_rng(seed).standard_normal((2, 6, dim))
    expected = [oracles.gap(x, y) for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(gaps_between(a, b), expected, rtol=1e-12)
    np.testing.assert_array_equal(np.sqrt(squared_gaps(a, b)), gaps_between(a, b))


def test_one_row_is_compared_with_all():
    """``b`` of shape [D] stands for a row per row of ``a``."""
    a = np.random.default_rng(0).standard_normal((9, 5))
    np.testing.assert_array_equal(gaps_between(a, a[3]), gaps_between(a, a[[3] * 9]))


@pytest.mark.parametrize("count", [0, 1, 20_000])
def test_blocks_change_nothing(count):
    """Pairs are measured block by block, and give what one at a time gives."""
    rng = np.random.default_rng(1)
    z = rng.standard_normal((50, 11)).astype(np.float32)
    u, v = rng.integers(50, size=(2, count))
    found = gaps_of_pairs(z, u, z, v)
    assert found.shape == (count,)
    for pair in range(0, count, 4_000):
        alone = gaps_between(z[u[pair]][None], z[v[pair]])[0]
        assert found[pair] == alone
