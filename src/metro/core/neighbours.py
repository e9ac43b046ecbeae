"""The exact nearest frames of other episodes, for every frame, a goal or an entry."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.core.cell_index import CellIndex
from metro.core.latents import Latents, frozen, is_integer
from metro.errors import GraphError, short
from metro.kernels.checks import check_within
from metro.kernels.neighbours.gaps import gaps_of_pairs
from metro.types import FrameIds, Gaps, NeighbourIndex, PartStore, Progress

DEFAULT_NEIGHBOURS = 4
"""k of the paper."""

NO_FRAME = -1
"""Stands in a table where fewer than k frames of other episodes exist."""

NO_EPISODE = -1
"""Excludes nothing from a query."""

SMALL = 2_048
"""Frames below which grouping them costs more than it saves."""

_LARGEST, _LEAST_SPREAD = 1e15, 1e-10
"""Within these, no square that matters leaves the range of float32."""

_BLOCK_CELLS = 1 << 24
"""Approximate squared gaps held at once: 64 MiB of float32."""


@dataclass(frozen=True, eq=False)
class NeighbourTable:
    """The k nearest frames of other episodes, for every frame. Independent of H.

    Paper: Eq. 4. Decision: D1.

    Attributes:
        frame: ``[N, K]`` int32 by ascending gap, ties by lower frame; -1: none.
        gap: ``[N, K]`` float64 latent distance; ``inf`` where there is none.
        latents_digest: Digest of the corpus that the table was made for.
        index: What answered, to be asked for goals and entries too; None: not kept.
        reach: ``[N, K]`` float32 m from every frame to its neighbours, ``inf`` where
            there is none; None: not measured. Decision: D36.
    """

    frame: FrameIds
    gap: Gaps
    latents_digest: str
    index: NeighbourIndex | None = field(default=None, repr=False)
    reach: NDArray[np.float32] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        arrays = [a for a in (self.frame, self.gap, self.reach) if a is not None]
        shapes = [array.shape for array in arrays]
        if len(shapes[0]) != 2 or shapes[0][1] < 1 or len(set(shapes)) > 1:
            raise GraphError(
                f"frame, gap and reach of a neighbour table must be [N, K] with "
                f"K >= 1, got {' and '.join(map(str, shapes))}."
            )
        check_within("neighbour_frame", self.frame, NO_FRAME, self.num_frames - 1)
        check_within("neighbour_gap", self.gap, 0)
        if self.reach is not None:
            check_within("neighbour_reach", self.reach, 0)

    @property
    def num_frames(self) -> int:
        """N, the number of frames of the corpus."""
        return len(self.frame)

    @property
    def num_neighbours(self) -> int:
        """K, the neighbours kept for every frame."""
        return int(self.frame.shape[1])

    def nearest(self, num_neighbours: int) -> "NeighbourTable":
        """Return the table of the k nearest alone, without reach distances."""
        if num_neighbours == self.num_neighbours and self.reach is None:
            return self
        frame, gap = self.frame[:, :num_neighbours], self.gap[:, :num_neighbours]
        return replace(self, frame=frame, gap=gap, reach=None)

    def require_frames(self, num_frames: int) -> None:
        """Raise `GraphError` unless this table has a row for each of the frames."""
        if self.num_frames != num_frames:
            raise GraphError(
                f"The neighbour table is of another corpus: it has {self.num_frames} "
                f"frames, the latents have {num_frames}. "
                f"Make it again with find_neighbours."
            )

    def require_corpus(self, latents: Latents) -> None:
        """Raise `GraphError` unless this table was made for ``latents``."""
        self.require_frames(latents.num_frames)
        if self.latents_digest != latents.digest:
            raise GraphError(
                f"The neighbour table is of another corpus: its latents have digest "
                f"{short(self.latents_digest)}, these {short(latents.digest)}. "
                f"Make it again with find_neighbours."
            )


def find_neighbours(
    latents: Latents,
    num_neighbours: int = DEFAULT_NEIGHBOURS,
    *,
    workers: int | None = None,
    progress: Progress | None = None,
    checkpoint: PartStore | None = None,
) -> NeighbourTable:
    """Return the exact nearest frames of other episodes, for every frame.

    Paper: Eq. 4. Decision: D1, D10.

    Args:
        latents: The corpus.
        num_neighbours: k of the paper.
        workers: Number of threads; None: one per core. The result is always the same.
        progress: Called with (done, total) frames.
        checkpoint: Where finished rows are kept, such as `metro.storage.parts.Parts`.
            If this run is interrupted, the next one resumes from there; the parts are
            removed at the end.
    """
    require_num_neighbours(num_neighbours)
    index = make_index(latents, workers=workers)
    if isinstance(index, BruteForceIndex):
        episodes = latents.episode_of(np.arange(latents.num_frames))
        found = index.nearest(latents.z, num_neighbours, episodes, progress=progress)
    else:
        if checkpoint is not None:
            checkpoint.open(f"{latents.digest} k={num_neighbours}")
        found = index.table(num_neighbours, progress=progress, parts=checkpoint)
        if checkpoint is not None:
            checkpoint.remove()
    frame, gap = (frozen(array) for array in found)
    return NeighbourTable(frame, gap, latents.digest, index)


def require_num_neighbours(num_neighbours: int) -> None:
    """Raise `GraphError` unless k is a whole number of at least 1."""
    if not is_integer(num_neighbours) or num_neighbours < 1:
        raise GraphError(
            f"num_neighbours must be a whole number of at least 1, "
            f"got {num_neighbours!r}."
        )


def make_index(
    latents: Latents, *, workers: int | None = None
) -> "BruteForceIndex | CellIndex":
    """Return the index that suits a corpus: cells, or brute force for a small one.

    Where squares leave the range of float32, brute force gives the same answers.
    """
    if latents.num_frames < SMALL or not _fits_float32(latents):
        return BruteForceIndex(latents)
    return CellIndex(latents, workers=workers)


def _fits_float32(latents: Latents) -> bool:
    largest = max(float(latents.z.max()), -float(latents.z.min()))
    sample = latents.z[:: max(1, latents.num_frames // 4096)]
    spread = float(sample.std(axis=0, dtype=np.float64).max())
    return largest < _LARGEST and (spread == 0 or spread > _LEAST_SPREAD)


class BruteForceIndex:
    """Every frame against every query by matrix products, then exact in float64.

    A float32 product proposes all frames whose squared gap could be among the k
    smallest, given a proven bound on its rounding error; those are measured again by
    `gaps_of_pairs` and ranked. No gap of the answer comes from the product.
    """

    FAR = 1e30
    """Squared norm, in units of the corpus, past which float32 may overflow."""

    def __init__(self, latents: Latents) -> None:
        self._latents = latents
        self._centre = latents.z.mean(axis=0, dtype=np.float64)
        spread = max(
            float(np.abs(latents.z[i : i + 65_536] - self._centre).max())
            for i in range(0, latents.num_frames, 65_536)
        )
        # A power of two scales exactly and keeps every square within float32.
        self._scale = 2.0 ** -np.ceil(np.log2(spread)) if spread > 0 else 1.0
        self._rows, self._norms = self._moved(latents.z)
        self._largest = float(np.sqrt(self._norms.max()))

    def nearest(
        self,
        queries: NDArray[Any],
        num_neighbours: int,
        excluded: NDArray[np.int64],
        *,
        progress: Progress | None = None,
    ) -> tuple[FrameIds, Gaps]:
        """Return the frames nearest to each query; see `NeighbourIndex.nearest`."""
        frame = np.full((len(queries), num_neighbours), NO_FRAME, dtype=np.int32)
        gap = np.full((len(queries), num_neighbours), np.inf)
        # As many queries at once as keep the matrix of approximate gaps at 64 MiB.
        step = max(1, _BLOCK_CELLS // len(self._rows))
        for start in range(0, len(queries), step):
            rows = slice(start, start + step)
            query, other = self._candidates(
                queries[rows], num_neighbours, excluded[rows]
            )
            gaps = gaps_of_pairs(queries[rows], query, self._latents.z, other)
            _keep_nearest(query, other, gaps, frame[rows], gap[rows])
            if progress is not None:
                progress(min(start + step, len(queries)), len(queries))
        return frame, gap

    def _moved(self, rows: NDArray[Any]) -> tuple[NDArray[np.float32], Gaps]:
        """Return rows around the corpus' centre, to scale, and their squared norms."""
        moved = np.empty(rows.shape, dtype=np.float32)
        # A query too far away for float32 becomes infinite: `FAR` takes care of it.
        with np.errstate(over="ignore"):
            for start in range(0, len(rows), 65_536):
                part = slice(start, start + 65_536)
                moved[part] = (rows[part] - self._centre) * self._scale
            return moved, np.einsum("ij,ij->i", moved, moved, dtype=np.float64)

    def _candidates(
        self, queries: NDArray[Any], num_neighbours: int, excluded: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return (query, frame) pairs that hold every true neighbour."""
        rows, norms = self._moved(queries)
        with np.errstate(over="ignore", invalid="ignore"):
            approximate = rows @ self._rows.T
            approximate *= -2
            approximate += self._norms.astype(np.float32)
            approximate += norms.astype(np.float32)[:, None]
        # Products of such queries overflow: all their frames are measured exactly.
        far = ~(norms < self.FAR)
        approximate[far] = 0
        norms[far] = 0
        for number, episode in enumerate(excluded):
            if episode != NO_EPISODE:
                approximate[number, self._latents.rows_of(episode)] = np.inf
        last = min(num_neighbours, approximate.shape[1]) - 1
        limit = np.partition(approximate, last, axis=1)[:, last].astype(np.float64)
        # Twice: the k-th smallest may be too small, a true neighbour too large.
        limit += 2 * self._rounding(norms)
        query, other = np.nonzero(
            (approximate <= limit[:, None]) & (approximate < np.inf)
        )
        return query, other

    def _rounding(self, norms: Gaps) -> Gaps:
        """Bound the error of an approximate squared gap, for each query.

        A float32 dot product of D terms, in any order, is off by at most
        γ_D |q| |x| with γ_D = D u / (1 − D u), u = 2⁻²⁴ (Higham, Sec. 3.1); centring,
        norms and the two additions add fewer than 12 u (|q| + |x|)².
        """
        terms = (self._latents.dim + 16) * 2.0**-24
        return np.asarray(
            terms / (1 - terms) * ((np.sqrt(norms) + self._largest) ** 2 + 1e-30)
        )


def _keep_nearest(
    query: NDArray[np.int64],
    other: NDArray[np.int64],
    gaps: Gaps,
    frame: FrameIds,
    gap: Gaps,
) -> None:
    """Write the k best candidates of every query into ``frame`` and ``gap``."""
    # By query, then gap, then frame: equal gaps go to the lower frame (D8).
    order = np.lexsort((other, gaps, query))
    query, other, gaps = query[order], other[order], gaps[order]
    starts = np.searchsorted(query, np.arange(len(frame)))
    place = np.arange(len(query)) - starts[query]
    kept = place < frame.shape[1]
    frame[query[kept], place[kept]] = other[kept]
    gap[query[kept], place[kept]] = gaps[kept]
