"""Tiles of products give the k nearest, as a sort of all gaps does."""

import numpy as np
import pytest

from metro.kernels.neighbours.brute import select
from metro.kernels.neighbours.gaps import gaps_between

WIDTH = 8


def nearest(queries, rows, episode, excluded, num_kept):
    """Return frames and gaps ``[Q, K]`` by sorting all gaps; -1 and inf: none left."""
    frame = np.full((len(queries), num_kept), -1)
    gap = np.full((len(queries), num_kept), np.inf)
    for q, query in enumerate(queries):
        allowed = np.flatnonzero(episode != excluded[q])
        gaps = gaps_between(rows[allowed], query)
        order = np.lexsort((allowed, gaps))[:num_kept]
        frame[q, : len(order)], gap[q, : len(order)] = allowed[order], gaps[order]
    return frame, gap


def select_all(queries, rows, episode, excluded, num_kept, tile):
    """Return the same from the kernel, tile by tile."""
    frame = np.full((len(queries), num_kept), -1, np.int32)
    gap = np.full((len(queries), num_kept), np.inf)
    squares = np.square(rows).sum(axis=1)
    own = np.square(queries.astype(float)).sum(axis=1)
    largest = np.sqrt(squares.max())
    error = (WIDTH + 32) * 2.0**-24 * 1.01 * (np.sqrt(own) + largest) ** 2
    errors = np.stack([own, error], axis=1)
    for first in range(0, len(rows), tile):
        products = queries @ rows[first : first + tile].T
        given = (products, squares, first, queries, rows, errors)
        select(*given, episode, excluded, frame, gap)
    return frame, gap


def assert_nearest(queries, rows, episode, excluded, *, num_kept=5, tile=1_000):
    question = (queries, rows, episode, np.asarray(excluded, np.int64), num_kept)
    found, expected = select_all(*question, tile), nearest(*question)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])


@pytest.fixture
def rows():
    """300 rows of ten episodes."""
    return np.random.default_rng(4).standard_normal((300, WIDTH)).astype(np.float32)


@pytest.fixture
def episode():
    return np.repeat(np.arange(10, dtype=np.int32), 30)


@pytest.mark.parametrize("tile", [1, 64, 100, 300])
def test_the_nearest_whatever_the_tiles(rows, episode, tile):
    """Frames and gaps are those of a sort, however the rows are cut into tiles."""
    assert_nearest(rows[::30], rows, episode, range(10), tile=tile)


def test_ties_go_to_the_lower_frame(rows, episode):
    """On a lattice, where most gaps tie, the lower numbers are kept."""
    lattice = np.round(rows / 2).astype(np.float32)
    assert_nearest(lattice[::30], lattice, episode, range(10), num_kept=20, tile=70)


def test_copies_of_the_query_go_by_number(rows, episode):
    """More copies than there is room for: the lowest of other episodes are kept."""
    rows[::2] = rows[0]
    assert_nearest(rows[:1], rows, episode, [0], tile=64)
    assert_nearest(rows[:1], rows, episode, [-1], tile=64)


def test_zero_rows(episode):
    """Where all rows are zero, the first of other episodes are kept, with gap zero."""
    nothing = np.zeros((300, WIDTH), np.float32)
    assert_nearest(nothing[:3], nothing, episode, [0, 1, 9])


@pytest.mark.parametrize("excluded", [-1, 0])
def test_one_row(rows, episode, excluded):
    """A single row is the only neighbour, or there is none if it is excluded."""
    assert_nearest(rows[5:6], rows[:1], episode[:1], [excluded])


def test_far_from_the_origin(rows, episode):
    """Where products are rounded more than gaps differ, the answer stays exact."""
    far = rows + np.float32(500)
    assert_nearest(far[::30], far, episode, range(10), tile=64)
