"""What a macro model costs, beside what metro's graph costs on the same corpus."""

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from metro.core.graph import build_graph
from metro.core.latents import Latents
from metro.core.neighbours import SMALL, find_neighbours
from metro.core.pricing import PricingCurve
from metro.models.frozen import FrozenModel
from metro.types import CorpusLike

SAMPLED = 20
"""Episodes that are encoded to estimate how long all of them take."""


@dataclass(frozen=True)
class OfflineCost:
    """Seconds that metro needs once per corpus.

    Attributes:
        encode: Seconds of the encoder, over every frame.
        table: Seconds of the neighbour table.
        graph: Seconds of pricing curve and bridges.
        cpu: Processor time of all three; what an idle machine would take with one
            thread.
    """

    encode: float
    table: float
    graph: float
    cpu: float


@dataclass(frozen=True)
class MacroCost:
    """What training took, and what metro takes instead.

    Attributes:
        steps: Optimiser steps.
        seconds: Seconds of training alone; the latents are the same for both.
        cpu_seconds: Processor time of it, all threads.
        metro_seconds: Processor time of encode, table and graph; None if nobody
            measured it.
    """

    steps: int
    seconds: float
    cpu_seconds: float
    metro_seconds: float | None

    @property
    def ratio(self) -> float | None:
        """Processor time of training over metro's: does not depend on the load."""
        if self.metro_seconds is None:
            return None
        return self.cpu_seconds / self.metro_seconds

    def to_json(self) -> dict[str, Any]:
        """Return the cost as JSON values."""
        ratio = self.ratio
        return {
            "steps": self.steps,
            "minutes": round(self.seconds / 60, 3),
            "cpu_minutes": round(self.cpu_seconds / 60, 3),
            "metro_minutes": _minutes(self.metro_seconds),
            "ratio": None if ratio is None else round(ratio, 3),
        }

    def __str__(self) -> str:
        text = (
            f"{self.steps} steps, {self.seconds / 60:.1f} minutes "
            f"({self.cpu_seconds / 60:.1f} of processor time)"
        )
        if self.metro_seconds is None:
            return f"{text}; metro's offline cost was not measured"
        return (
            f"{text}; metro's encoding, table and graph take "
            f"{self.metro_seconds / 60:.2f} of it, ratio {self.ratio:.1f}"
        )


def measure_offline(
    corpus: CorpusLike,
    model: FrozenModel,
    latents: Latents,
    *,
    waypoint_budget: int = 8,
    workers: int | None = None,
) -> OfflineCost:
    """Return what metro's preprocessing takes here and now, in seconds.

    The table and the graph are really made; encoding is measured on twenty episodes
    and taken in proportion. ``workers`` are threads of the neighbour table.
    """
    # Kernels are loaded before the clock starts, by just enough frames: below SMALL
    # another path is taken, which loads nothing.
    needed = int((latents.episode_lengths.cumsum() < SMALL).sum()) + 1
    few = latents.subset(range(min(needed, latents.num_episodes)))
    find_neighbours(few, workers=workers)
    clock = [_clocks()]
    # Spread evenly, as lengths may drift along a corpus; unique for short ones.
    episodes = np.unique(np.linspace(0, corpus.num_episodes - 1, SAMPLED).astype(int))
    for episode in episodes:
        model.encode(corpus.frames(int(episode)))
    clock.append(_clocks())
    table = find_neighbours(latents, workers=workers)
    clock.append(_clocks())
    build_graph(latents, table, PricingCurve.fit(latents, waypoint_budget))
    clock.append(_clocks())
    spent = np.diff(clock, axis=0)
    # By frames, not episodes: those that were encoded may be longer than most.
    spent[0] *= corpus.num_frames / corpus.lengths[episodes].sum()
    encode, tabled, built = spent[:, 0].tolist()
    return OfflineCost(encode, tabled, built, cpu=float(spent[:, 1].sum()))


def _clocks() -> tuple[float, float]:
    """Return wall time and this process' processor time, seconds."""
    return time.perf_counter(), time.process_time()


def _minutes(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds / 60, 3)
