"""The neighbour table in blocks of frames: two ways to answer one, and running all."""

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metro.types import FrameIds, Gaps, PartStore, Progress

if TYPE_CHECKING:
    from metro.kernels.neighbours.cells import Cells

_QUERIES = 512
"""Queries of one matrix product."""

_TILE = 2_048
"""Frames of one matrix product."""

Block = tuple[NDArray[np.int32], FrameIds, Gaps]
"""Frames that were answered, their neighbours, and the gaps."""


class Work(NamedTuple):
    """Frames to be answered together, and the call that does it."""

    frames: NDArray[np.int32]
    answer: Callable[[], Block]


class ByCells:
    """Answers frames cell by cell; bounds rule out most of the other cells.

    Args:
        cells: The frames grouped into cells.
        z: ``[N, W]`` the rows of all frames.
        episode: ``[N]`` the episode of every frame.
        num_neighbours: k.
    """

    def __init__(
        self,
        cells: "Cells",
        z: NDArray[np.float32],
        episode: NDArray[np.int32],
        num_neighbours: int,
    ) -> None:
        from metro.kernels.neighbours.primitives import margins
        from metro.kernels.neighbours.scan import prepare_centres

        self._cells = cells
        self._num_neighbours = num_neighbours
        self._rows = z[cells.frame]
        self._episode = episode[cells.frame]
        self._centres = prepare_centres(cells)
        self._margin = margins(z.shape[1])

    def blocks(self, num_cells: int) -> list[Work]:
        """Return the whole table as work on blocks of ``num_cells`` cells."""
        total = len(self._cells.radius)
        blocks = []
        for first in range(0, total, num_cells):
            last = min(first + num_cells, total)
            answer = partial(self.answer, first, last)
            blocks.append(Work(self._frames(first, last), answer))
        return blocks

    def answer(self, first: int, last: int) -> Block:
        """Return the neighbours of the frames in cells first ... last - 1."""
        from metro.kernels.neighbours import scan

        frames = self._frames(first, last)
        frame, gap = empty_answer(len(frames), self._num_neighbours)
        corpus = (self._rows, self._cells, self._episode)
        scan.fill_from_own_cells(*corpus, self._margin, first, last, frame, gap)
        ours = scan.centre_views(self._cells, self._centres, slice(first, last))
        scan.scan_block(
            *corpus, self._centres, ours, self._margin, (first, last), frame, gap
        )
        return frames, frame, gap

    def _frames(self, first: int, last: int) -> NDArray[np.int32]:
        offsets = self._cells.offsets
        return self._cells.frame[offsets[first] : offsets[last]]


class ByProducts:
    """Answers frames by matrix products with all others, where nothing can be pruned.

    Args:
        z: ``[N, W]`` the rows of all frames.
        episode: ``[N]`` the episode of every frame.
        num_neighbours: k.
    """

    def __init__(
        self,
        z: NDArray[np.float32],
        episode: NDArray[np.int32],
        num_neighbours: int,
    ) -> None:
        self._z = z
        self._episode = episode
        self._num_neighbours = num_neighbours
        # Rounding grows with the norms, and rows around their mean have the smallest.
        self._moved = z - z.mean(axis=0, dtype=np.float64).astype(np.float32)
        self._squares = np.einsum("ij,ij->i", self._moved, self._moved)
        self._largest = float(np.sqrt(self._squares.max()))

    @staticmethod
    def seconds_per_query(z: NDArray[np.float32]) -> float:
        """Return how long one query takes where every gap is computed."""
        queries, tile = z[:_QUERIES], z[:_TILE]
        start = time.perf_counter()
        queries @ tile.T
        each = (time.perf_counter() - start) / len(queries)
        # The products are most of the work; choosing among them takes the rest.
        return 1.2 * each * len(z) / len(tile)

    def blocks(self, frames: NDArray[np.int32]) -> list[Work]:
        """Return the rows of ``frames`` as work."""
        parts = np.array_split(frames, max(1, -(-len(frames) // _QUERIES)))
        return [Work(part, partial(self.answer, part)) for part in parts]

    def answer(self, frames: NDArray[np.int32]) -> Block:
        """Return the neighbours of ``frames``."""
        from metro.kernels.neighbours.brute import select

        moved, squares = self._moved, self._squares
        frame, gap = empty_answer(len(frames), self._num_neighbours)
        queries, own = moved[frames], self._episode[frames].astype(np.int64)
        exact = self._z[frames]
        terms = (moved.shape[1] + 32) * 2.0**-24
        norms = np.sqrt(squares[frames].astype(np.float64))
        error = terms / (1 - terms) * (norms + self._largest) ** 2
        errors = np.stack([squares[frames].astype(np.float64), error], axis=1)
        room = np.empty((len(frames), _TILE), dtype=np.float32)
        # Tile by tile, so that products are selected from while they are in the cache.
        for first in range(0, len(moved), _TILE):
            tile = moved[first : first + _TILE]
            products = room if len(tile) == _TILE else room[:, : len(tile)].copy()
            np.matmul(queries, tile.T, out=products)
            tiled = (products, squares, first, exact, self._z, errors)
            select(*tiled, self._episode, own, frame, gap)
        return frames, frame, gap


class PartialTable:
    """A table that is being filled.

    Attributes:
        frame: ``[N, K]`` the neighbours found by now; -1: none.
        gap: ``[N, K]`` their gaps; ``inf``: none.
        done: ``[N]`` which frames are answered.
    """

    def __init__(
        self, num_frames: int, num_neighbours: int, progress: Progress | None
    ) -> None:
        self.frame, self.gap = empty_answer(num_frames, num_neighbours)
        self.done = np.zeros(num_frames, dtype=np.bool_)
        self._count = 0
        self._progress = progress

    def left(self, work: list[Work]) -> list[Work]:
        """Return the work whose frames are not answered yet."""
        return [item for item in work if not self.done[item.frames].all()]

    def put(self, block: Block) -> None:
        """Write the answers of one block."""
        frames, frame, gap = block
        self.frame[frames] = frame
        self.gap[frames] = gap
        self.done[frames] = True
        self._count += len(frames)
        if self._progress is not None:
            self._progress(self._count, len(self.done))


def empty_answer(num_queries: int, num_neighbours: int) -> tuple[FrameIds, Gaps]:
    """Return ``[Q, K]`` frames and gaps in which nothing is found yet."""
    shape = (num_queries, num_neighbours)
    return np.full(shape, -1, dtype=np.int32), np.full(shape, np.inf)


def run_all(
    pool: ThreadPoolExecutor,
    work: list[Work],
    table: PartialTable,
    parts: PartStore | None,
) -> None:
    """Run all calls; on Ctrl-C finish those under way, keep them, and stop."""
    futures: list[Future[Block]] = [pool.submit(item.answer) for item in work]
    try:
        for future in as_completed(futures):
            block = future.result()
            table.put(block)
            if parts is not None:
                parts.add(dict(zip(("frames", "frame", "gap"), block, strict=True)))
    finally:
        # Also after Ctrl-C: hours of finished rows must not be lost with the last ones.
        pool.shutdown(cancel_futures=True)
        if parts is not None:
            parts.flush()
