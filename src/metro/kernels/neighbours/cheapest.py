"""Which candidates to keep: the cheapest, from different episodes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.types import Costs


def cheapest_per_episode(
    cost: Costs, episodes: NDArray[Any], frames: NDArray[Any], count: int
) -> NDArray[np.bool_]:
    """Return which ``[B, K]`` to keep: the cheapest, at most one of each episode.

    Ties go to the lower frame; what costs ``inf`` is never kept. Decision: D37.
    """
    order = np.lexsort((frames, cost), axis=1)
    cost, episodes = (np.take_along_axis(a, order, 1) for a in (cost, episodes))
    # Side by side, the cheapest of an episode differs from the one before. Comparing
    # all pairs of candidates would take hours where a table is wide.
    by_episode = np.argsort(episodes, axis=1, kind="stable")
    episodes = np.take_along_axis(episodes, by_episode, 1)
    is_first = np.ones(cost.shape, dtype=np.bool_)
    is_first[:, 1:] = episodes[:, 1:] != episodes[:, :-1]
    is_kept = np.empty_like(is_first)
    np.put_along_axis(is_kept, by_episode, is_first, axis=1)
    is_kept &= np.isfinite(cost)
    is_kept &= np.cumsum(is_kept, axis=1) <= count
    kept = np.zeros_like(is_kept)
    np.put_along_axis(kept, order, is_kept, axis=1)
    return kept
