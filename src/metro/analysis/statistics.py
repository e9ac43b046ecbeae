"""Rates, intervals and tests of paired runs; nothing here knows what a row is."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import bdtr

_Z = 1.959963984540054
"""97.5 % point of the normal distribution: two-sided 95 %."""
# Resampling then moves the ends by about 0.1 points, the last digit shown.
_RESAMPLES = 10_000


class Interval(NamedTuple):
    """Ends of a 95 % interval."""

    low: float
    high: float


def wilson(solved: int, count: int) -> Interval:
    """Return Wilson's 95 % interval of a rate; without trials it is all of [0, 1].

    The ends are the rates p with (solved / count - p)² = z² p (1 - p) / count.
    """
    if count == 0:
        return Interval(0.0, 1.0)
    # Not rate ± z √(rate (1 - rate) / n): at 0 and 100 % that has no width at all.
    rate, spread = solved / count, _Z**2 / count
    centre = rate + spread / 2
    half = np.sqrt(spread * rate * (1 - rate) + spread**2 / 4)
    low, high = (centre - half) / (1 + spread), (centre + half) / (1 + spread)
    # The exact ends; rounding would leave 1e-17 beside them.
    return Interval(
        0.0 if solved == 0 else float(low), 1.0 if solved == count else float(high)
    )


def mcnemar(first: ArrayLike, second: ArrayLike) -> float:
    """Return the p value of McNemar's exact test on paired outcomes ``[n]``.

    Only pairs that differ count. If both are as good, each of them is a fair coin:
    p = min(1, 2 P[Binomial(b + c, 1/2) <= min(b, c)]).
    """
    only_first, only_second = discordant(first, second)
    total = only_first + only_second
    if total == 0:
        return 1.0
    # Exact, not χ², for few pairs may differ. Doubling can exceed 1 if both are equal.
    return min(1.0, 2 * float(bdtr(min(only_first, only_second), total, 0.5)))


def discordant(first: ArrayLike, second: ArrayLike) -> tuple[int, int]:
    """Return how many pairs only the first solved, and how many only the second."""
    one, other = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    return int(np.sum(one & ~other)), int(np.sum(other & ~one))


def bootstrap_difference(
    first: ArrayLike, second: ArrayLike, clusters: Sequence[Any]
) -> Interval:
    """Return a 95 % interval of the mean of ``first - second``, resampling clusters.

    Seeds of one query fail together, so a query is drawn with all its seeds: runs are
    not independent, queries are.

    Args:
        first: Outcomes ``[n]``, 0 or 1.
        second: Outcomes ``[n]`` of the same queries and seeds.
        clusters: Which query each pair belongs to, ``[n]``; anything hashable.
    """
    gain = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    numbers: dict[Any, int] = {}
    places = [numbers.setdefault(name, len(numbers)) for name in clusters]
    # A resample needs only sums and sizes of queries, not their runs.
    sums = np.bincount(places, weights=gain)
    sizes = np.bincount(places)
    # All resamples at once: 10,000 times fewer calls for 4 MB of numbers.
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(sums), (_RESAMPLES, len(sums)))
    # Over the drawn sizes, since queries may have different numbers of seeds.
    means = sums[drawn].sum(axis=1) / sizes[drawn].sum(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(float(low), float(high))


def success_curve(frames: ArrayLike, step_budget: int) -> NDArray[np.float64]:
    """Return success within T for T = 0, 1, ..., step_budget: ``[step_budget + 1]``.

    Success latches, so one run at a budget answers for every smaller one, never for a
    larger one.

    Args:
        frames: Frames to success ``[n]``, infinite where there was none.
        step_budget: Environment steps that all of them were given.
    """
    when = np.asarray(frames, dtype=float)
    hits = np.bincount(when[when <= step_budget].astype(int), minlength=step_budget + 1)
    return np.cumsum(hits) / max(len(when), 1)


def arrival_ratio(frames: ArrayLike, demonstration: ArrayLike) -> float | None:
    """Return the median of frames to success over the recording's own, of successes.

    Below 1: sooner than the recording. None: no success has a recording to compare.
    Table 3 of the paper.

    Args:
        frames: Frames to success ``[n]``, infinite where there was none.
        demonstration: Frames the recording needs ``[n]``, nan where unknown.
    """
    ours, theirs = np.asarray(frames, float), np.asarray(demonstration, float)
    # nan > 0 is false as well, so unknown recordings drop out here.
    known = np.isfinite(ours) & (theirs > 0)
    return float(np.median(ours[known] / theirs[known])) if known.any() else None


def mean_and_std(
    outcomes: ArrayLike, seeds: Sequence[int]
) -> tuple[float, float | None]:
    """Return the mean over planner seeds of their success, and its sample deviation.

    The paper's ``mean ± std``. One seed has no deviation: None.
    """
    solved, names = np.asarray(outcomes, dtype=float), np.asarray(seeds)
    # Rates first: a seed with fewer queries counts as much as the others.
    rates = [float(solved[names == name].mean()) for name in np.unique(names)]
    std = float(np.std(rates, ddof=1)) if len(rates) > 1 else None
    return float(np.mean(rates)), std


def non_dominated(gains: ArrayLike, costs: ArrayLike) -> list[int]:
    """Return which points no other one beats: no less gain for no more cost.

    By rising cost; of equal points the first.
    """
    gain, cost = np.asarray(gains, dtype=float), np.asarray(costs, dtype=float)
    # By cost, then falling gain: each kept point must gain more than the last kept.
    order = np.lexsort((np.arange(len(gain)), -gain, cost))
    front: list[int] = []
    for place in order:
        if not front or gain[place] > gain[front[-1]]:
            front.append(int(place))
    return front
