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
    is_kept = np.isfinite(cost)
    for place in range(1, cost.shape[1]):
        same = episodes[:, :place] == episodes[:, place, None]
        is_kept[:, place] &= ~(same & is_kept[:, :place]).any(axis=1)
    is_kept &= np.cumsum(is_kept, axis=1) <= count
    kept = np.zeros_like(is_kept)
    np.put_along_axis(kept, order, is_kept, axis=1)
    return kept
