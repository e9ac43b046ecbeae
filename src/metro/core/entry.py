"""Where an observation may enter the graph, and at what price."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.core.graph import FrameGraph
from metro.core.neighbours import NO_EPISODE, NO_FRAME
from metro.errors import GraphError
from metro.kernels.neighbours.cheapest import cheapest_per_episode
from metro.types import Costs, FrameIds, Gaps, Vector


@dataclass(frozen=True, eq=False)
class Entries:
    """The frames around an observation, by ascending gap.

    Attributes:
        candidates: ``[K]`` the k nearest frames; priced by reach, the k cheapest.
        candidate_prices: ``[K]`` κ of their gaps, in frames.
        admissible: ``[K]`` which of them may be entered.
        charges: ``[K]`` what the search charges beyond the prices; None: nothing.
    """

    candidates: NDArray[np.int64]
    candidate_prices: Costs
    admissible: NDArray[np.bool_]
    charges: Costs | None = None

    @property
    def frames(self) -> NDArray[np.int64]:
        """The candidates that may be entered."""
        return self.candidates[self.admissible]

    @property
    def prices(self) -> Costs:
        """The frames from the observation to them."""
        return self.candidate_prices[self.admissible]

    @property
    def costs(self) -> Costs:
        """What the search charges for entering them, in frames."""
        if self.charges is None:
            return self.prices
        return self.prices + self.charges[self.admissible]


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
    rows = np.stack(observed)
    frames, gaps = find_candidates(graph, rows, held_out)
    if not graph.is_directed:
        return [_admit(graph, *pair) for pair in zip(frames, gaps, strict=True)]
    charges = charge_jumps(graph, rows, graph.latents.z[np.maximum(frames, 0)])
    return [
        _admit_cheapest(graph, *around)
        for around in zip(frames, gaps, charges, strict=True)
    ]


def find_candidates(
    graph: FrameGraph, rows: NDArray[Any], held_out: int | None
) -> tuple[FrameIds, Gaps]:
    """Return the nearest frames ``[B, K]`` of latents ``[B, D]`` and their gaps.

    As many as the neighbour table has for every frame.
    """
    excluded = np.full(len(rows), NO_EPISODE if held_out is None else held_out)
    count = graph.table.num_neighbours if graph.is_directed else graph.num_neighbours
    return graph.index.nearest(rows, count, excluded)


def charge_jumps(
    graph: FrameGraph, origins: NDArray[Any], targets: NDArray[Any]
) -> Costs:
    """Return ``[B, K]`` frames charged from origins ``[B, D]`` to ``[B, K, D]``."""
    if graph.reach is None or graph.measure is None:
        raise GraphError(
            "This graph is priced by reach: goals and observations need its world "
            "model. Plan with MetroPolicy(graph, model), or attach_reach(graph, model)."
        )
    return graph.reach.charge(graph.measure(origins, targets))


def entry_at(frame: int) -> Entries:
    """Return the entries of an observation that is a recorded frame: itself, free."""
    here = np.array([frame], dtype=np.int64)
    return Entries(here, np.zeros(1), np.ones(1, dtype=np.bool_))


def no_entries() -> Entries:
    """Return the entries of no observation."""
    none = np.empty(0, dtype=np.int64)
    return Entries(none, np.empty(0), np.empty(0, dtype=np.bool_))


def _admit_cheapest(
    graph: FrameGraph, frames: FrameIds, gaps: Gaps, charges: Costs
) -> Entries:
    """Return the k cheapest entries by price and charge, one of each episode."""
    there = frames != NO_FRAME
    frames, gaps, charges = frames[there].astype(np.int64), gaps[there], charges[there]
    prices = graph.pricing.price(gaps)
    within = gaps <= graph.pricing.radius
    if not within.any():
        within[np.argmin(prices + charges)] = True
    cost = np.where(within, prices + charges, np.inf)
    episodes = graph.latents.episode_of(frames)
    chosen = cheapest_per_episode(
        cost[None], episodes[None], frames[None], graph.num_neighbours
    )[0]
    everyone = np.ones(np.count_nonzero(chosen), dtype=np.bool_)
    return Entries(frames[chosen], prices[chosen], everyone, charges[chosen])


def _admit(graph: FrameGraph, frames: FrameIds, gaps: Gaps) -> Entries:
    frames, gaps = frames[frames != NO_FRAME], gaps[frames != NO_FRAME]
    # Without any frame in reach the nearest one is entered all the same (D5), at the
    # price H: a robot that has strayed must find back.
    admissible = gaps <= graph.pricing.radius
    if not admissible.any():
        admissible[:1] = True
    return Entries(frames.astype(np.int64), graph.pricing.price(gaps), admissible)
