"""Cells hold every frame once, and what is said of them is true."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
import pytest

from metro.kernels.neighbours.cells import (
    MOST_FRAMES,
    describe_cells,
    group_frames,
    padded,
)


def make_rows(kind):
    """Return 700 rows on a curve, all zero, half of them one row; or a single row."""
    t = np.linspace(0, 6, 700)[:, None]
    rows = np.sin(t * np.arange(1, 17) / 4).astype(np.float32)
    if kind == "zero":
        rows[:] = 0
    if kind == "ties":
        rows[::2] = rows[0]
    return rows[:1] if kind == "one" else rows


@pytest.fixture(params=["curve", "zero", "ties", "one"])
def rows(request):
    return make_rows(request.param)


def described(z, num_parts=2):
    frame, offsets = group_frames(z)
    with ThreadPoolExecutor(2) as pool:
        return z[frame], describe_cells(z[frame], frame, offsets, pool, num_parts)


def each_cell(rows, cells):
    """Yield the number and the float64 rows of each cell."""
    for c, (begin, end) in enumerate(pairwise(cells.offsets)):
        yield c, rows[begin:end].astype(float)


def test_every_frame_is_in_one_cell(rows):
    """Cells are a partition of the frames, and none is empty or too large."""
    frame, offsets = group_frames(rows)
    assert sorted(frame.tolist()) == list(range(len(rows)))
    sizes = np.diff(offsets)
    assert (offsets[0], offsets[-1]) == (0, len(rows))
    assert 1 <= sizes.min() <= sizes.max() <= MOST_FRAMES


def test_centres_are_means(rows):
    """The centre of a cell is the mean of its rows."""
    rows, cells = described(rows)
    for c, own in each_cell(rows, cells):
        np.testing.assert_allclose(cells.centres[c], own.mean(axis=0), atol=1e-6)


def test_axes_are_orthogonal_and_not_longer_than_one(rows):
    """Two axes of a cell are at right angles; each has a length of one or is zero."""
    _, cells = described(rows)
    for basis in cells.bases.astype(float):
        products = basis @ basis.T
        lengths = np.diag(products)
        np.testing.assert_allclose(products, np.diag(lengths), atol=1e-6)
        assert (lengths < 1).all()
        assert ((lengths == 0) | (lengths > 0.9999)).all()


def test_coordinates_are_projections(rows):
    """Coordinates are NumPy's, and the ninth is the norm of what they leave."""
    rows, cells = described(rows)
    for c, own in each_cell(rows, cells):
        away = own - cells.centres[c]
        along = away @ cells.bases[c].T.astype(float)
        left = np.square(away).sum(axis=1) - np.square(along).sum(axis=1)
        found = cells.coordinates[c, :, : len(own)]
        np.testing.assert_allclose(found[:8].T, along, atol=1e-5)
        np.testing.assert_allclose(found[8] ** 2, np.maximum(left, 0), atol=1e-6)


def test_boxes_are_the_extremes_of_their_rows(rows):
    """Least and largest coordinates are those of the cell's rows, not of its room."""
    rows, cells = described(rows)
    for c, own in each_cell(rows, cells):
        found = cells.coordinates[c, :, : len(own)]
        np.testing.assert_array_equal(cells.boxes[0, :, c], found.min(axis=1))
        np.testing.assert_array_equal(cells.boxes[1, :, c], found.max(axis=1))


def test_no_row_is_farther_than_its_reach(rows):
    """Reach is at least the gap to the centre, and hardly more; radius covers all."""
    rows, cells = described(rows)
    for c, own in each_cell(rows, cells):
        gaps = np.linalg.norm(own - cells.centres[c], axis=1)
        reach = cells.reach[cells.offsets[c] : cells.offsets[c + 1]]
        assert (reach >= gaps).all()
        assert (reach <= gaps * (1 + 1e-5)).all()
        assert reach.max() <= cells.radius[c] <= reach.max() * (1 + 1e-5)


def test_parts_do_not_change_cells():
    """One part or more parts than cells: the description has the same bits."""
    _, one = described(make_rows("curve"), num_parts=1)
    _, many = described(make_rows("curve"), num_parts=30)
    for ours, theirs in zip(one, many, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("width", [1, 8, 11])
def test_padding_adds_zeros(width):
    """Rows become float32 of whole registers, their numbers in front of zeros."""
    z = np.random.default_rng(0).standard_normal((3, width))
    found = padded(z)
    assert found.dtype == np.float32
    assert found.shape == (3, -(-width // 8) * 8)
    np.testing.assert_array_equal(found[:, :width], z.astype(np.float32))
    assert not found[:, width:].any()
