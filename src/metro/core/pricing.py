"""Latent gaps priced in frames, by how far the recorded episodes move in that time."""

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metro.core.latents import Latents, is_integer
from metro.errors import PricingError
from metro.kernels.neighbours.gaps import LANES, gaps_between
from metro.types import Costs, Gaps, Progress

COMPILED_FROM = 20_000
"""Pairs from which compiled gaps are worth importing Numba."""

DEFAULT_QUANTILE = 0.25
"""α of the paper: a low quantile charges like a slow demonstrator."""


@dataclass(frozen=True, eq=False)
class PricingCurve:
    """Λ and its inverse κ: what a latent gap costs in frames.

    Paper: Sec. 5.2, Eq. 5.

    Attributes:
        gaps: ``[H]`` Λ(1) ... Λ(H), ascending; Λ(d) is ``gaps[d - 1]``.
        quantile: α, the quantile that Λ was fitted with.
    """

    gaps: Gaps
    quantile: float = DEFAULT_QUANTILE

    def __post_init__(self) -> None:
        gaps = np.array(self.gaps, dtype=np.float64)
        if gaps.ndim != 1 or len(gaps) == 0:
            raise PricingError(f"gaps must have shape [H], got {gaps.shape}.")
        # With 0 in front, one test covers the first value's sign and the order.
        steps = np.diff(gaps, prepend=0.0)
        if not (np.isfinite(gaps).all() and (steps >= 0).all()):
            raise PricingError("gaps must be finite, at least 0, and ascending.")
        gaps.setflags(write=False)
        object.__setattr__(self, "gaps", gaps)

    @classmethod
    def fit(
        cls,
        latents: Latents,
        waypoint_budget: int,
        quantile: float = DEFAULT_QUANTILE,
        *,
        progress: Progress | None = None,
    ) -> "PricingCurve":
        """Return the curve of a corpus, fitted once with all its episodes.

        Λ(d) = Q_α({‖z_{t+d} − z_t‖₂}) over all pairs d frames apart in one episode,
        with NumPy's linear quantile; then the running maximum.

        Paper: Sec. 5.2. Decision: D2.

        Args:
            latents: The corpus.
            waypoint_budget: H, in frames; 1 <= H < the longest episode.
            quantile: α in [0, 1].
            progress: Called with (done, total) frame separations.
        """
        check_fit(latents, waypoint_budget, quantile)
        curve = np.empty(waypoint_budget)
        for separation in range(1, waypoint_budget + 1):
            curve[separation - 1] = np.quantile(
                gaps_in_episodes(latents, separation), quantile
            )
            if progress is not None:
                progress(separation, waypoint_budget)
        return cls(np.maximum.accumulate(curve), float(quantile))

    @property
    def waypoint_budget(self) -> int:
        """H, in frames."""
        return len(self.gaps)

    @property
    def radius(self) -> float:
        """ε = Λ(H): two frames further apart are never bridged."""
        return float(self.gaps[-1])

    def price(self, gap: ArrayLike) -> Costs:
        """Return κ(gap) in frames, within [1, H], in the shape of ``gap``.

        κ(δ) = d + (δ − Λ(d)) / (Λ(d+1) − Λ(d)) for δ in [Λ(d), Λ(d+1)); 1 below
        Λ(1), H from Λ(H) on; a plateau charges its larger frame count.

        Paper: Eq. 5. Decision: D3.
        """
        given = np.asarray(gap, dtype=np.float64)
        if not (given >= 0).all():
            raise PricingError(f"A gap must be at least 0, got {_first_wrong(given)}.")
        passed = np.searchsorted(self.gaps, given, side="right")  # knots at or below
        inside = (passed > 0) & (passed < self.waypoint_budget)
        below = self.gaps[np.where(inside, passed - 1, 0)]
        width = np.where(inside, self.gaps[np.where(inside, passed, 0)] - below, 1.0)
        share = np.where(inside, given - below, 0.0) / width
        return np.asarray(np.maximum(passed, 1) + share)


def gaps_in_episodes(latents: Latents, separation: int) -> Gaps:
    """Return ``[P]`` gaps of all pairs ``separation`` frames apart in one episode.

    Pairs are ordered by their first frame.
    """
    firsts = np.arange(latents.num_frames - separation)
    same = latents.episode_of(firsts) == latents.episode_of(firsts + separation)
    # The kernel sums whole lanes, so other dimensions take the slower path.
    if len(firsts) >= COMPILED_FROM and latents.dim % LANES == 0:
        gaps = _compiled_gaps(latents, separation)
    else:
        gaps = gaps_between(latents.z[separation:], latents.z[: len(firsts)])
    return np.asarray(gaps[same])


def _compiled_gaps(latents: Latents, separation: int) -> Gaps:
    """Return the gaps of all rows ``separation`` apart, the same bits on all cores."""
    from metro.kernels.neighbours.pairs import gaps_apart

    gaps = np.empty(latents.num_frames - separation)
    workers = os.cpu_count() or 1
    edges = np.linspace(0, len(gaps), workers + 1).astype(np.int64)
    with ThreadPoolExecutor(workers) as pool:
        parts = [
            pool.submit(gaps_apart, latents.z, separation, start, end, gaps)
            for start, end in pairwise(edges)
        ]
    # An error in a thread stays there until its result is asked for.
    for part in parts:
        part.result()
    return gaps


def check_fit(
    latents: Latents, waypoint_budget: Any, quantile: Any = DEFAULT_QUANTILE
) -> None:
    """Raise `PricingError` unless Λ can be fitted for these H and α."""
    longest = int(latents.episode_lengths.max())
    if not is_integer(waypoint_budget) or not 1 <= waypoint_budget < longest:
        raise PricingError(
            f"waypoint_budget must be a whole number of frames, at least 1 and below "
            f"the longest episode ({longest} frames), got {waypoint_budget!r}."
        )
    is_number = is_integer(quantile) or isinstance(quantile, float | np.floating)
    if not is_number or not 0 <= quantile <= 1:
        raise PricingError(f"quantile must be a number in [0, 1], got {quantile!r}.")


def _first_wrong(gaps: NDArray[np.float64]) -> float:
    return float(gaps[~(gaps >= 0)].flat[0])
