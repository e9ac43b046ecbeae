"""Reach: what a world model can do in one action block, as a price of bridges.

A latent gap cannot tell a cube that would have to move by itself from one that the arm
carries. The frozen model can: predict what random action blocks lead to, and measure
how far a look-alike frame lies outside of that.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from metro.core.latents import Latents
from metro.errors import PricingError
from metro.types import Costs, FrameIds, PartStore, Progress

ReachDistances = NDArray[np.float32]
"""m, reach distances; ``inf`` where there is no frame."""

MOST_CHARGED = 1_024.0
"""Frames; no jump is charged more, so that a search needs few buckets."""

_ROWS = 256
"""Frames whose reach is measured at once."""


class ReachMeasure(Protocol):
    """Measures what the world model can reach from a latent in one action block."""

    def __call__(
        self, origins: NDArray[Any], targets: NDArray[Any]
    ) -> NDArray[np.float64]:
        """Return m ``[B, K]`` from origins ``[B, D]`` to targets ``[B, K, D]``."""
        ...


@dataclass(frozen=True)
class ReachPricing:
    """What a jump is charged beyond its frames: rate · (1 + max(0, m − floor)) − 1.

    A jump within reach takes one action block, not the one frame that two look-alikes
    are apart. All constants are measured on the recordings. Decision: D36, D37.

    Attributes:
        noise: s², the model's mean squared one-block error per latent dimension.
        floor: m₀, the reach distance of recorded frames one block apart.
        rate: c, frames of one action block: what a jump takes at least, and again for
            every unit of m beyond the floor.
    """

    noise: float
    floor: float
    rate: float

    def __post_init__(self) -> None:
        values = (self.noise, self.floor, self.rate)
        fit = np.isfinite(values).all() and self.noise > 0 and self.floor >= 0
        if not (fit and self.rate >= 1):
            raise PricingError(
                f"noise must be positive, floor at least 0 and rate at least 1, "
                f"got {values}."
            )

    def charge(self, distances: NDArray[Any]) -> Costs:
        """Return the frames charged for reach distances, at most `MOST_CHARGED`."""
        excess = np.maximum(np.asarray(distances, dtype=np.float64) - self.floor, 0)
        charged: Costs = np.minimum(self.rate * (1 + excess) - 1, MOST_CHARGED)
        return charged


def reach_distances(
    predicted: NDArray[Any], targets: NDArray[Any], noise: float
) -> NDArray[np.float64]:
    """Return how far targets lie outside of what was predicted, ``[B, K]``.

    m² = (z_v − μ)ᵀ (Σ + s² I)⁻¹ (z_v − μ), where μ and Σ are mean and covariance of the
    predictions. By Woodbury's identity one system of S equations serves all targets.

    Decision: D36.

    Args:
        predicted: ``[B, S, D]`` predicted latents of S action blocks.
        targets: ``[B, K, D]`` latents to compare.
        noise: s².
    """
    cloud = np.asarray(predicted, dtype=np.float64)
    mean = cloud.mean(axis=1, keepdims=True)
    spread = (cloud - mean) / np.sqrt(cloud.shape[1])
    away = np.asarray(targets, dtype=np.float64) - mean
    inner = spread @ spread.transpose(0, 2, 1)
    inner += noise * np.eye(cloud.shape[1])
    along = spread @ away.transpose(0, 2, 1)
    explained = (along * np.linalg.solve(inner, along)).sum(axis=1)
    # Rounding may leave a little less than nothing of a target that is fully explained.
    left = np.maximum(np.square(away).sum(axis=2) - explained, 0)
    return np.asarray(np.sqrt(left / noise))


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

    def measured(rows: NDArray[np.int64]) -> ReachDistances:
        # A missing neighbour is measured as frame 0, and then forgotten.
        near = frame[rows]
        distances = measure(latents.z[rows], latents.z[np.maximum(near, 0)])
        return np.where(near >= 0, distances, np.inf).astype(np.float32)

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
