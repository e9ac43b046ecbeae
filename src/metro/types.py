"""Array aliases with their shapes, and the protocols that other packages implement.

Letters: N frames, M episodes, D latent dimensions, K neighbours, H waypoint budget.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from metro.planner import SubGoal

Rows = NDArray[np.float32]
"""``[N, D]`` latents, one row a frame."""

Vector = NDArray[np.floating[Any]]
"""``[D]`` one latent: a goal or an observation, float32 or float64."""

Frames = NDArray[np.int32]
"""Frame numbers: 0-based rows of the latents. Negative values are named sentinels."""

Gaps = NDArray[np.float64]
"""Latent L2 distances."""

Costs = NDArray[np.float64]
"""Prices and path costs, in frames; ``inf`` where there is no route."""

Offsets = NDArray[np.int64]
"""Start of every group, and the end of the last: ``[groups + 1]``."""

Progress = Callable[[int, int], None]
"""Called with (done, total) while long work goes on."""


class NeighbourIndex(Protocol):
    """Answers exact nearest-frame queries; one index serves table, goal and entry."""

    def nearest(
        self, queries: NDArray[Any], num_neighbours: int, excluded: NDArray[np.int64]
    ) -> tuple[Frames, Gaps]:
        """Return the frames nearest to each query, and their gaps.

        Args:
            queries: ``[Q, D]`` latents, float32 or float64.
            num_neighbours: How many frames to return for each query.
            excluded: ``[Q]`` the episode that each query must not use, or -1.

        Returns:
            ``[Q, K]`` frames by ascending gap, ties by lower frame, -1 where fewer
            exist, and ``[Q, K]`` gaps, ``inf`` there.
        """
        ...


class MacroPlanner(Protocol):
    """Turns the latest observation into the next sub-goal.

    The goal is fixed when the planner is made.

    Paper: Eq. 2.
    """

    def __call__(self, observed: NDArray[Any]) -> "SubGoal":
        """Return the sub-goal to head for from ``observed`` ``[D]``."""
        ...
