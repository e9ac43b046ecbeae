"""Gaps, projections and bounds of single frames, against slow NumPy."""

import numpy as np
import pytest

from metro.kernels.neighbours import primitives
from metro.kernels.neighbours.gaps import gaps_between
from metro.kernels.neighbours.primitives import NUM_AXES, margins

WIDTH = 16

lowest = primitives.lowest.py_func
"""Not compiled: sorting takes Numba ten seconds, and the scan's tests do it."""


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def normal(rng, *shape):
    return rng.standard_normal(shape).astype(np.float32)


def axes_of(rng, width=WIDTH):
    """Return eight orthonormal axes, as rows."""
    return np.linalg.qr(rng.standard_normal((width, NUM_AXES)))[0].T.astype(np.float32)


def test_float32_gaps_are_within_their_margin(rng):
    """A float32 squared gap is off by no more than the proven share."""
    a, b = normal(rng, 50, WIDTH), normal(rng, 50, WIDTH)
    exact = np.square(a.astype(float) - b).sum(axis=1)
    found = [primitives.squared_gap(a, i, b, i) for i in range(50)]
    share = 1 - margins(WIDTH).gap
    assert (np.abs(found - exact) <= share * exact).all()


def test_exact_gaps_are_those_of_the_core(rng):
    """An exact gap has the bits of `gaps`; equal and zero rows have none."""
    a = normal(rng, 6, WIDTH)
    a[4] = a[5] = 0
    b = a[[0, 2, 1, 0, 5, 4]]
    found = [primitives.exact_gap(a, i, b, i) for i in range(6)]
    np.testing.assert_array_equal(found, gaps_between(a, b))
    assert [i for i in range(6) if found[i] == 0] == [0, 4, 5]


@pytest.mark.parametrize("num_kept", [1, 3, 8])
def test_keep_is_a_sort(rng, num_kept):
    """Whatever the order of the offers, the least (gap, frame) pairs remain, sorted."""
    gaps = rng.integers(0, 4, 12).astype(float)  # many ties
    for _ in range(20):
        frame = np.full((2, num_kept), -1, np.int32)
        gap = np.full((2, num_kept), np.inf)
        for candidate in rng.permutation(12):
            primitives.keep(frame, gap, 1, candidate, gaps[candidate])
        expected = np.lexsort((np.arange(12), gaps))[:num_kept]
        assert frame[1].tolist() == expected.tolist()
        assert gap[1].tolist() == gaps[expected].tolist()
        assert (frame[0] == -1).all()


def test_keep_says_whether_it_kept():
    """A farther candidate is refused, and so is a tie with a higher number."""
    frame, gap = np.int32([[4, 6]]), np.array([[1.0, 2.0]])
    offers = [(9, 3.0), (7, 2.0), (6, 2.0), (5, 2.0), (8, 0.5)]
    kept = [primitives.keep(frame, gap, 0, *offer) for offer in offers]
    assert kept == [False, False, False, True, True]
    assert frame.tolist() == [[8, 4]]


def test_projections_are_within_their_margins(rng):
    """Coordinates and squared norm are NumPy's, to the margins of float32."""
    rows, centres = normal(rng, 4, WIDTH), normal(rng, 3, WIDTH)
    bases, axes = np.stack([axes_of(rng) for _ in range(2)]), np.empty(8, np.float32)
    centres[2] = rows[3]
    for i, c, b in ((0, 0, 0), (1, 2, 1), (3, 2, 0)):
        away = rows[i].astype(float) - centres[c]
        norm = np.linalg.norm(away)
        squared = primitives.project(rows, i, centres, c, bases, b, axes)
        off = np.linalg.norm(axes - bases[b] @ away)
        assert off <= margins(WIDTH).axes * norm
        assert abs(squared - norm**2) <= margins(WIDTH).rest * norm**2


def test_the_rest_lies_within_its_range(rng):
    """The true norm of what the axes leave is between the two that are returned."""
    basis = axes_of(rng)
    for row in np.vstack([normal(rng, 20, WIDTH), basis[:1], 0 * basis[:1]]):
        along = basis @ row
        squared = np.float32(row @ row)
        error = margins(WIDTH).rest * squared
        low, high = primitives.rest_range(squared, along, error)
        left = np.linalg.norm(row.astype(float) - basis.T.astype(float) @ along)
        assert 0 <= low <= left <= high


def test_the_range_without_error_is_one_number():
    """3-4-5: of a squared norm of 25, with 9 on the axes, 4 is left."""
    along = np.zeros(8, np.float32)
    along[2] = 3
    nothing = np.float32(0)
    assert primitives.rest_range(np.float32(25), along, nothing) == (4, 4)
    assert primitives.rest_range(np.float32(8), along, nothing) == (0, 0)


def test_box_gaps_are_distances_to_the_nearest_point(rng):
    """The gap to a box is that to the coordinates clipped to it; inside it is zero."""
    boxes = np.sort(normal(rng, 2, NUM_AXES + 1, 5), axis=0)
    for c in range(5):
        axes, (low, high) = 2 * normal(rng, 8), np.sort(np.abs(normal(rng, 2)))
        floor, top = boxes[:, :, c]
        rest = max(floor[8] - high, low - top[8], 0)
        expected = np.square(axes - np.clip(axes, floor[:8], top[:8])).sum() + rest**2
        found = primitives.box_gap(axes, low, high, boxes, c)
        np.testing.assert_allclose(found, expected, rtol=1e-5)
        middle = boxes[:, :, c].mean(axis=0)
        assert primitives.box_gap(middle[:8], middle[8], middle[8], boxes, c) == 0


@pytest.mark.parametrize("count", [0, 1, 6])
def test_frame_bounds_are_gaps_of_coordinates(rng, count):
    """Eight coordinates and the rest's way to its range; only ``count`` are written."""
    coordinates, axes = normal(rng, 2, 9, 6), normal(rng, 8)
    low, high = np.float32(-0.2), np.float32(0.3)
    bounds = np.full(6, -1, np.float32)
    primitives.frame_bounds(coordinates, 1, count, axes, low, high, bounds)
    cell = coordinates[1].astype(float)
    rest = cell[8] - np.clip(cell[8], low, high)
    expected = np.square(cell[:8] - axes[:, None]).sum(axis=0) + rest**2
    np.testing.assert_allclose(bounds[:count], expected[:count], rtol=1e-5)
    assert (bounds[count:] == -1).all()


@pytest.mark.parametrize("limit", [-1, 0, 2, np.inf])
def test_pick_lists_what_is_within_the_limit(limit):
    """Places whose bound is at most the limit, ties with it included, in order."""
    bounds, picked = np.float32([2, 0, 3, 2, 5, 0]), np.empty(6, np.int64)
    for count in (0, 1, 6):
        found = primitives.pick(bounds, count, np.float32(limit), picked)
        expected = np.flatnonzero(bounds[:count] <= limit)
        assert picked[:found].tolist() == expected.tolist()


@pytest.mark.parametrize("count", [1, 4, 12, 40])
def test_lowest_are_the_lowest_bounds(rng, count):
    """The bounds of the places are the lowest, lowest first; no place comes twice."""
    bounds = rng.permutation(12).astype(np.float32)
    places = lowest(bounds, count)
    assert bounds[places].tolist() == sorted(bounds.tolist())[:count]
    assert len(set(places.tolist())) == min(count, 12)


def test_lowest_of_one():
    """A single bound is its own lowest."""
    assert lowest(np.float32([7]), 3).tolist() == [0]


def test_a_gap_that_is_no_number_is_not_kept():
    """A damaged row must not push out the frames that are near."""
    frame, gap = np.full((1, 2), -1, np.int32), np.full((1, 2), np.inf)
    for candidate, distance in ((5, np.nan), (3, 2.0), (6, np.nan), (4, 1.0)):
        primitives.keep(frame, gap, 0, candidate, distance)
    assert frame.tolist() == [[4, 3]]
    assert gap.tolist() == [[1.0, 2.0]]
