"""Where an observation may enter the graph, and at what price."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metro.core.graph import FrameGraph
from metro.core.neighbours import NO_EPISODE, NO_FRAME
from metro.types import Costs, FrameIds, Gaps, Vector


@dataclass(frozen=True, eq=False)
class Entries:
    """The frames around an observation, by ascending gap.

    Attributes:
        candidates: ``[K]`` the k nearest frames.
        candidate_prices: ``[K]`` κ of their gaps, in frames.
        admissible: ``[K]`` which of them may be entered.
    """

    candidates: NDArray[np.int64]
    candidate_prices: Costs
    admissible: NDArray[np.bool_]

    @property
    def frames(self) -> NDArray[np.int64]:
        """The candidates that may be entered."""
        return self.candidates[self.admissible]

    @property
    def prices(self) -> Costs:
        """What entering them costs, in frames."""
        return self.candidate_prices[self.admissible]


def find_entries(
    graph: FrameGraph, observed: Sequence[Vector], *, held_out: int | None
) -> list[Entries]:
    """Return where each of the observations ``[B, D]`` may enter.

    Among the k nearest frames outside ``held_out`` those within the radius or, if none
    is, the single nearest.

    Paper: Eq. 7. Decision: D5.
    """
    if not observed:
        return []
    excluded = np.full(len(observed), NO_EPISODE if held_out is None else held_out)
    found = graph.index.nearest(np.stack(observed), graph.num_neighbours, excluded)
    return [_admit(graph, *around) for around in zip(*found, strict=True)]


def entry_at(frame: int) -> Entries:
    """Return the entries of an observation that is a recorded frame: itself, free."""
    here = np.array([frame], dtype=np.int64)
    return Entries(here, np.zeros(1), np.ones(1, dtype=np.bool_))


def no_entries() -> Entries:
    """Return the entries of no observation."""
    none = np.empty(0, dtype=np.int64)
    return Entries(none, np.empty(0), np.empty(0, dtype=np.bool_))


def _admit(graph: FrameGraph, frames: FrameIds, gaps: Gaps) -> Entries:
    frames, gaps = frames[frames != NO_FRAME], gaps[frames != NO_FRAME]
    # Without any frame in reach the nearest one is entered all the same (D5), at the
    # price H: a robot that has strayed must find back.
    admissible = gaps <= graph.pricing.radius
    if not admissible.any():
        admissible[:1] = True
    return Entries(frames.astype(np.int64), graph.pricing.price(gaps), admissible)
