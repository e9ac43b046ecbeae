"""Exact nearest frames through cells: the table, goals and entries, on all cores."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metro.core.checks import check_cells
from metro.core.latents import Latents
from metro.types import FrameIds, Gaps, PartStore, Progress

if TYPE_CHECKING:
    from metro.kernels.neighbours.cells import Cells

_BLOCK_CELLS = 16
"""Cells whose queries are answered together, so that other cells are read once."""

_QUERIES, _TILE = 512, 2_048
"""Queries and frames of one matrix product, where nothing can be pruned."""

_PROBES, _PROBE_SECONDS = 12, 0.3
"""Cells, and for how long, that are tried before deciding that pruning pays."""

Block = tuple[NDArray[np.int32], FrameIds, Gaps]
"""Frames that were answered, their neighbours, and the gaps."""


class Work(NamedTuple):
    """Frames to be answered together, and the call that does it."""

    frames: NDArray[np.int32]
    answer: Callable[[], Block]


class CellIndex:
    """Answers nearest-frame queries by cells; equal to brute force, bit for bit.

    Making one costs nothing: Numba is imported, and cells are made or checked, when the
    first query comes.

    Args:
        latents: The corpus.
        stored: The arrays of its cells as a file keeps them; None: made anew.
        workers: Threads; None: one a core.
    """

    def __init__(
        self,
        latents: Latents,
        stored: Mapping[str, NDArray[Any]] | None = None,
        *,
        workers: int | None = None,
    ) -> None:
        self._latents = latents
        self._stored = stored
        self._workers = workers or os.cpu_count() or 1

    @cached_property
    def cells(self) -> "Cells":
        """The frames grouped into cells."""
        from metro.kernels.neighbours.cells import Cells, describe_cells, group_frames

        if self._stored is not None:
            check_cells(self._stored, self._latents.num_frames)
            return Cells(**self._stored)
        frame, offsets = group_frames(self._z)
        rows = self._z[frame]
        with ThreadPoolExecutor(self._workers) as pool:
            cells = describe_cells(rows, frame, offsets, pool, self._workers)
        self.__dict__["_rows"] = rows  # the table needs them too, and drops them
        return cells

    @cached_property
    def _rows(self) -> NDArray[np.float32]:
        """``[N, W]`` the rows in cell order."""
        return self._z[self.cells.frame]

    @cached_property
    def _z(self) -> NDArray[np.float32]:
        from metro.kernels.neighbours.cells import padded

        return padded(self._latents.z)

    @cached_property
    def _margin(self) -> Any:
        from metro.kernels.neighbours.primitives import margins

        return margins(self._z.shape[1])

    @cached_property
    def _episode(self) -> NDArray[np.int32]:
        episodes = np.arange(self._latents.num_episodes, dtype=np.int32)
        return np.repeat(episodes, self._latents.episode_lengths)

    def nearest(
        self, queries: NDArray[Any], num_neighbours: int, excluded: NDArray[np.int64]
    ) -> tuple[FrameIds, Gaps]:
        """Return the frames nearest to each query; see `NeighbourIndex.nearest`."""
        from metro.kernels.neighbours.cells import padded
        from metro.kernels.neighbours.nearest import nearest_in_cells

        frame = np.full((len(queries), num_neighbours), -1, dtype=np.int32)
        gap = np.full((len(queries), num_neighbours), np.inf)
        single = padded(queries)
        exact = single if queries.dtype == np.float32 else _padded_exact(queries)

        def answer(rows: slice) -> None:
            nearest_in_cells(
                single[rows],
                exact[rows],
                self._z,
                self.cells,
                self._episode,
                self._margin,
                excluded[rows],
                frame[rows],
                gap[rows],
            )

        parts = min(self._workers, len(queries))
        edges = np.linspace(0, len(queries), parts + 1).astype(int)
        slices = [slice(*edge) for edge in pairwise(edges)]
        if parts <= 1:
            answer(slice(None))
        else:
            with ThreadPoolExecutor(parts) as pool:
                list(pool.map(answer, slices))
        return frame, gap

    def table(
        self,
        num_neighbours: int,
        *,
        progress: Progress | None = None,
        parts: PartStore | None = None,
    ) -> tuple[FrameIds, Gaps]:
        """Return the nearest frames of other episodes for every frame.

        The same bytes for any number of workers.
        """
        table = _Filling(self._latents.num_frames, num_neighbours, progress)
        if parts is not None:
            for done in parts.finished():
                table.put((done["frames"], done["frame"], done["gap"]))
        with _one_blas_thread(), ThreadPoolExecutor(self._workers) as pool:
            work = self._scan_blocks(num_neighbours, _BLOCK_CELLS)
            if not self._pruning_pays(num_neighbours, table):
                work = self._product_blocks(num_neighbours, table)
            _run(pool, table.left(work), table, parts)
        del self._rows
        return table.frame, table.gap

    def _scan_blocks(self, num_neighbours: int, num_cells: int) -> list[Work]:
        """Return the table as work on blocks of ``num_cells`` cells."""
        from metro.kernels.neighbours.scan import prepare_centres

        cells, rows = self.cells, self._rows
        centres = prepare_centres(cells)
        episode = self._episode[cells.frame]

        def scan(first: int, last: int) -> Block:
            return self._scan(rows, episode, centres, first, last, num_neighbours)

        blocks = []
        for first in range(0, len(cells.radius), num_cells):
            last = min(first + num_cells, len(cells.radius))
            frames = cells.frame[cells.offsets[first] : cells.offsets[last]]
            blocks.append(Work(frames, partial(scan, first, last)))
        return blocks

    def _scan(
        self,
        rows: NDArray[np.float32],
        episode: NDArray[np.int32],
        centres: Any,
        first: int,
        last: int,
        num_neighbours: int,
    ) -> Block:
        from metro.kernels.neighbours import scan

        cells, margin = self.cells, self._margin
        frames = cells.frame[cells.offsets[first] : cells.offsets[last]]
        frame = np.full((len(frames), num_neighbours), -1, dtype=np.int32)
        gap = np.full((len(frames), num_neighbours), np.inf)
        scan.fill_from_own_cells(rows, cells, episode, margin, first, last, frame, gap)
        ours = scan.centre_views(cells, centres, slice(first, last))
        scan.scan_block(
            rows, cells, episode, centres, ours, margin, (first, last), frame, gap
        )
        return frames, frame, gap

    def _pruning_pays(self, num_neighbours: int, table: "_Filling") -> bool:
        """Try a few cells; return whether the rest is cheaper than products."""
        answered, start = 0, time.perf_counter()
        cells = table.left(self._scan_blocks(num_neighbours, num_cells=1))
        probes = cells[:: max(1, len(cells) // _PROBES)][:_PROBES]
        for number, probe in enumerate(probes):
            if number == 1:  # the first call may also have compiled
                answered, start = 0, time.perf_counter()
            probe.answer()
            answered += len(probe.frames)
            if number > 0 and time.perf_counter() - start > _PROBE_SECONDS:
                break
        each = (time.perf_counter() - start) / max(answered, 1)
        return each < self._seconds_by_products()

    def _seconds_by_products(self) -> float:
        """Return how long one query takes where every gap is computed."""
        queries, tile = self._z[:_QUERIES], self._z[:_TILE]
        start = time.perf_counter()
        queries @ tile.T
        each = (time.perf_counter() - start) / len(queries)
        return 1.2 * each * self._latents.num_frames / len(tile)

    def _product_blocks(self, num_neighbours: int, table: "_Filling") -> list[Work]:
        """Return what is left of the table as work by matrix products."""
        moved = self._z - self._z.mean(axis=0, dtype=np.float64).astype(np.float32)
        squares = np.einsum("ij,ij->i", moved, moved)
        largest = float(np.sqrt(squares.max()))

        def answer(frames: NDArray[np.int32]) -> Block:
            return self._by_products(moved, squares, largest, frames, num_neighbours)

        left = np.flatnonzero(~table.done).astype(np.int32)
        parts = np.array_split(left, max(1, -(-len(left) // _QUERIES)))
        return [Work(frames, partial(answer, frames)) for frames in parts]

    def _by_products(
        self,
        moved: NDArray[np.float32],
        squares: NDArray[np.float32],
        largest: float,
        frames: NDArray[np.int32],
        num_neighbours: int,
    ) -> Block:
        from metro.kernels.neighbours.brute import select

        frame = np.full((len(frames), num_neighbours), -1, dtype=np.int32)
        gap = np.full((len(frames), num_neighbours), np.inf)
        queries, own = moved[frames], self._episode[frames].astype(np.int64)
        exact = self._z[frames]
        terms = (moved.shape[1] + 32) * 2.0**-24
        norms = np.sqrt(squares[frames].astype(np.float64))
        error = terms / (1 - terms) * (norms + largest) ** 2
        errors = np.stack([squares[frames].astype(np.float64), error], axis=1)
        room = np.empty((len(frames), _TILE), dtype=np.float32)
        for first in range(0, len(moved), _TILE):
            tile = moved[first : first + _TILE]
            products = room if len(tile) == _TILE else room[:, : len(tile)].copy()
            np.matmul(queries, tile.T, out=products)
            select(
                products, squares, first, exact, self._z, errors,
                self._episode, own, frame, gap,
            )  # fmt: skip
        return frames, frame, gap


class _Filling:
    """A table under way: which frames are answered, and how."""

    def __init__(
        self, num_frames: int, num_neighbours: int, progress: Progress | None
    ) -> None:
        self.frame = np.full((num_frames, num_neighbours), -1, dtype=np.int32)
        self.gap = np.full((num_frames, num_neighbours), np.inf)
        self.done = np.zeros(num_frames, dtype=np.bool_)
        self._count, self._progress = 0, progress

    def left(self, work: list[Work]) -> list[Work]:
        """Return the work whose frames are not answered yet."""
        return [item for item in work if not self.done[item.frames].all()]

    def put(self, block: Block) -> None:
        """Write the answers of one block."""
        frames, frame, gap = block
        self.frame[frames], self.gap[frames] = frame, gap
        self.done[frames] = True
        self._count += len(frames)
        if self._progress is not None:
            self._progress(self._count, len(self.done))


def _run(
    pool: ThreadPoolExecutor,
    work: list[Work],
    table: _Filling,
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
        pool.shutdown(cancel_futures=True)
        if parts is not None:
            parts.flush()


def _padded_exact(queries: NDArray[Any]) -> NDArray[np.float64]:
    missing = -queries.shape[1] % 8
    return np.pad(np.asarray(queries, dtype=np.float64), ((0, 0), (0, missing)))


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Keep matrix products to the thread that asks for them: our threads are many."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield
