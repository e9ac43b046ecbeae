"""Exact nearest frames through cells: the table, goals and entries, on all cores."""

import os
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from metro.core.latents import Latents
from metro.kernels.neighbours.table_blocks import (
    ByCells,
    ByProducts,
    PartialTable,
    run_all,
)
from metro.types import FrameIds, Gaps, PartStore, Progress

if TYPE_CHECKING:
    from metro.kernels.neighbours.cells import Cells

_BLOCK_CELLS = 16
"""Cells whose queries are answered together, so that other cells are read once."""

_PROBES = 12
"""Cells that are tried at most before deciding whether pruning pays."""

_PROBE_SECONDS = 0.3
"""How long cells are tried at most."""


class CellIndex:
    """Answers nearest-frame queries by cells; equal to brute force, bit for bit.

    Making one costs nothing: Numba is imported, and cells are made, when the first
    query comes.

    Args:
        latents: The corpus.
        stored: The arrays of its cells as a file keeps them, checked by `storage`;
            None: they are computed.
        workers: Number of threads; None: one per core.
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
            return Cells(**self._stored)
        frame, offsets = group_frames(self._z)
        with ThreadPoolExecutor(self._workers) as pool:
            rows = self._z[frame]
            return describe_cells(rows, frame, offsets, pool, self._workers)

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
        # Gaps are measured from queries as given; bounds need only float32 (D9).
        exact = single if queries.dtype == np.float32 else _padded_exact(queries)

        def answer(rows: slice) -> None:
            corpus = (self._z, self.cells, self._episode, self._margin)
            answers = (excluded[rows], frame[rows], gap[rows])
            nearest_in_cells(single[rows], exact[rows], *corpus, *answers)

        parts = min(self._workers, len(queries))
        if parts <= 1:
            answer(slice(None))
        else:
            edges = np.linspace(0, len(queries), parts + 1).astype(int)
            with ThreadPoolExecutor(parts) as pool:
                list(pool.map(answer, [slice(*edge) for edge in pairwise(edges)]))
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

        Args:
            num_neighbours: k, the frames to find for each.
            progress: Called with (done, total) frames.
            parts: Finished rows of an earlier run, where those of this one are kept.
        """
        table = PartialTable(self._latents.num_frames, num_neighbours, progress)
        if parts is not None:
            for done in parts.finished():
                table.put((done["frames"], done["frame"], done["gap"]))
        with _one_blas_thread(), ThreadPoolExecutor(self._workers) as pool:
            by_cells = ByCells(self.cells, self._z, self._episode, num_neighbours)
            if self._pruning_pays(by_cells, table):
                work = by_cells.blocks(_BLOCK_CELLS)
            else:
                by_products = ByProducts(self._z, self._episode, num_neighbours)
                work = by_products.blocks(np.flatnonzero(~table.done).astype(np.int32))
            run_all(pool, table.left(work), table, parts)
        return table.frame, table.gap

    def _pruning_pays(self, by_cells: ByCells, table: PartialTable) -> bool:
        """Try a few cells; return whether the rest is cheaper than products."""
        answered, start = 0, time.perf_counter()
        cells = table.left(by_cells.blocks(1))
        probes = cells[:: max(1, len(cells) // _PROBES)][:_PROBES]
        for number, probe in enumerate(probes):
            # The first call may have compiled the kernel: it is not counted.
            if number == 1:
                answered, start = 0, time.perf_counter()
            probe.answer()
            answered += len(probe.frames)
            if number > 0 and time.perf_counter() - start > _PROBE_SECONDS:
                break
        each = (time.perf_counter() - start) / max(answered, 1)
        return each < ByProducts.seconds_per_query(self._z)


def _padded_exact(queries: NDArray[Any]) -> NDArray[np.float64]:
    missing = -queries.shape[1] % 8
    return np.pad(np.asarray(queries, dtype=np.float64), ((0, 0), (0, missing)))


@contextmanager
def _one_blas_thread() -> Iterator[None]:
    """Keep matrix products to the thread that asks for them: our threads are many."""
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1, user_api="blas"):
        yield
