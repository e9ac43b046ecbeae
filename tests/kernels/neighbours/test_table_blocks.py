"""Blocks of the table: both ways to answer one agree, and products have a price."""

import numpy as np
from table_makers import brute_table, corpora, latents_of

from metro.core.cell_index import CellIndex
from metro.kernels.neighbours.table_blocks import (
    ByCells,
    ByProducts,
    PartialTable,
    Work,
)


def test_both_ways_answer_a_block_alike():
    """A block by cells, and the same frames by products: the rows of brute force."""
    latents = latents_of(corpora()["pushing"])
    index = CellIndex(latents)
    expected = brute_table(latents, 4)
    by_cells = ByCells(index.cells, index._z, index._episode, 4)
    by_products = ByProducts(index._z, index._episode, 4)
    for work in by_cells.blocks(16)[:3]:
        frames, *found = work.answer()
        _, *again = by_products.answer(frames)
        for one, other, row in zip(found, again, expected, strict=True):
            np.testing.assert_array_equal(one, row[frames])
            np.testing.assert_array_equal(other, row[frames])


def test_blocks_hold_every_frame_once():
    """Whatever the number of cells in a block."""
    latents = latents_of(corpora()["two rooms"])
    index = CellIndex(latents)
    by_cells = ByCells(index.cells, index._z, index._episode, 4)
    for num_cells in (1, 7, 10_000):
        frames = np.concatenate([work.frames for work in by_cells.blocks(num_cells)])
        assert np.sort(frames).tolist() == list(range(3000))


def test_a_query_by_products_takes_time():
    """The yardstick of the probe is positive."""
    latents = latents_of(corpora()["pushing"])
    assert 0 < ByProducts.seconds_per_query(latents.z) < 1


def test_answered_frames_are_not_answered_again():
    """Only work with a frame that is not done is left."""
    table = PartialTable(4, 1, None)
    table.put((np.array([0, 1]), np.array([[2], [3]]), np.ones((2, 1))))
    work = [Work(np.array(frames), lambda: None) for frames in ([0, 1], [1, 2], [3])]
    assert [item.frames.tolist() for item in table.left(work)] == [[1, 2], [3]]
