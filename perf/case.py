"""What every kind of benchmark shares: a corpus, its table, its graph, the truth."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metro.core.graph import FrameGraph, build_graph
from metro.core.latents import Latents
from metro.core.neighbours import (
    NO_EPISODE,
    BruteForceIndex,
    NeighbourTable,
    find_neighbours,
)
from metro.core.pricing import PricingCurve
from metro.types import FrameIds, Gaps
from perf.measuring import FIELDS, Row, Tell
from perf.synthetic import make_latents

NUM_NEIGHBOURS = 4
NUM_QUERIES = 512
WAYPOINT_BUDGET = 8
NOISE_DIM = 192
MOST_FETCHED = 128
"""Neighbours that a peer may fetch so that four of other episodes remain."""

StateDim = int | str
"""Intrinsic dimension of the synthetic latents, or ``"noise"``."""


def make_corpus(
    num_frames: int, state_dim: StateDim = 5, noise: float = 0.0, seed: int = 0
) -> Latents:
    """Return synthetic latents, or isotropic noise, where nothing can be pruned."""
    length = 92 if state_dim == 2 else 121
    if state_dim != "noise":
        return make_latents(
            num_frames,
            state_dim=int(state_dim),
            episode_length=length,
            noise=noise,
            seed=seed,
        )
    rng = np.random.default_rng(seed)
    z = rng.standard_normal((num_frames, NOISE_DIM), dtype=np.float32)
    offsets = np.append(np.arange(0, num_frames, length), num_frames)
    return Latents(z, offsets, {"corpus": f"isotropic noise seed={seed}"})


class Truth(NamedTuple):
    """Exact answers for random frames, by brute force ranked in float64."""

    queries: NDArray[np.int64]
    frame: FrameIds
    gap: Gaps
    nearest: FrameIds

    def recall(self, found: NDArray[Any]) -> float:
        """Return the share of true neighbours that are in ``[Q, K]`` found."""
        return float((self.frame[:, :, None] == found[:, None, :]).any(axis=2).mean())


class Case:
    """One corpus and what was made of it, each thing once.

    Args:
        latents: The corpus.
        label: What the data are, for the rows.
        threads: Of ours and of the peers.
        seed: Of the queries.
        tell: Called with one line before each measurement.
    """

    def __init__(
        self, latents: Latents, label: str, threads: int, seed: int, tell: Tell
    ) -> None:
        self.latents, self.label, self.threads = latents, label, threads
        self.seed, self.tell = seed, tell
        self.kept: dict[str, Any] = {}
        """Indexes of peers that another kind can use again."""

    def row(self, kind: str, method: str, **measured: Any) -> Row:
        """Return a row with all fields; None where nothing was measured."""
        row: Row = dict.fromkeys(FIELDS)
        row |= {"kind": kind, "method": method, "data": self.label, "note": ""}
        row |= {"num_frames": self.latents.num_frames, "dim": self.latents.dim}
        return {**row, "threads": self.threads, **measured}

    @cached_property
    def episode(self) -> NDArray[np.int64]:
        """``[N]`` episode of every frame."""
        return self.latents.episode_of(np.arange(self.latents.num_frames))

    @cached_property
    def table(self) -> NeighbourTable:
        """Our table; `measure_table` puts the one that it timed here."""
        self.tell("our table (not timed)")
        return find_neighbours(self.latents, NUM_NEIGHBOURS, workers=self.threads)

    @cached_property
    def graph(self) -> FrameGraph:
        """The graph of our table."""
        self.tell("our graph (not timed)")
        pricing = PricingCurve.fit(self.latents, WAYPOINT_BUDGET)
        return build_graph(self.latents, self.table, pricing)

    def sample(self, count: int, purpose: int = 0) -> NDArray[np.int64]:
        """Return random frames, the same for the same seed and purpose."""
        rng = np.random.default_rng([self.seed, 7, purpose])
        count = min(count, self.latents.num_frames)
        return rng.choice(self.latents.num_frames, count, replace=False)

    @cached_property
    def truth(self) -> Truth:
        """Exact neighbours of `NUM_QUERIES` random frames."""
        self.tell(f"brute force on {NUM_QUERIES} queries (not timed)")
        queries = self.sample(NUM_QUERIES)
        rows, index = self.latents.z[queries], BruteForceIndex(self.latents)
        frame, gap = index.nearest(rows, NUM_NEIGHBOURS, self.episode[queries])
        anyone = np.full(len(queries), NO_EPISODE)
        nearest, _ = index.nearest(rows, MOST_FETCHED, anyone)
        return Truth(queries, frame, gap, nearest)
