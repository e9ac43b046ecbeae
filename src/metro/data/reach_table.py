"""The reach distances of a whole neighbour table: in threads, resumable."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np

from metro.core.latents import Latents
from metro.core.reach import ReachDistances, ReachMeasure, measure_rows
from metro.types import FrameIds, PartStore, Progress

_ROWS = 256
"""Frames whose reach is measured at once."""


def measure_table(  # noqa: PLR0913
    latents: Latents,
    frame: FrameIds,
    measure: ReachMeasure,
    *,
    workers: int = 1,
    prepare: Callable[[], None] | None = None,
    progress: Progress | None = None,
    checkpoint: PartStore | None = None,
) -> ReachDistances:
    """Return m from every frame to its neighbours, ``[N, K]`` like ``frame``.

    Args:
        latents: The corpus.
        frame: ``[N, K]`` the neighbours; -1: none.
        measure: The world model's reach; several threads may call it.
        workers: Number of threads. The result is always the same.
        prepare: Called once by every thread.
        progress: Called with (done, total) frames.
        checkpoint: Where finished rows are kept, so that an interrupted run resumes.
    """
    found = np.full(frame.shape, np.inf, dtype=np.float32)
    done = np.zeros(len(frame), dtype=np.bool_)
    for part in () if checkpoint is None else checkpoint.finished():
        found[part["frames"]], done[part["frames"]] = part["reach"], True
    blocks = np.array_split(np.arange(len(frame)), -(-len(frame) // _ROWS))
    left = [rows for rows in blocks if not done[rows].all()]

    measured = partial(measure_rows, latents, frame, measure)
    try:
        with ThreadPoolExecutor(workers, initializer=prepare) as pool:
            for rows, distances in zip(left, pool.map(measured, left), strict=True):
                found[rows], done[rows] = distances, True
                if checkpoint is not None:
                    checkpoint.add({"frames": rows, "reach": distances})
                if progress is not None:
                    progress(int(np.count_nonzero(done)), len(frame))
    finally:
        # Also after Ctrl-C: what is measured is not measured again.
        if checkpoint is not None:
            checkpoint.flush()
    return found
