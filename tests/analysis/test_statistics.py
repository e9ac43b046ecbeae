"""Intervals and tests against slow, obvious versions and textbook values."""

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metro.analysis.statistics import (
    arrival_ratio,
    bootstrap_difference,
    discordant,
    mcnemar,
    mean_and_std,
    non_dominated,
    success_curve,
    wilson,
)

Outcomes = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60)


def halve(function, low, high):
    """Return where a rising function crosses zero."""
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if function(middle) < 0 else (low, middle)
    return middle


def binomial_p(b, c):
    """Return twice the lower tail of a fair coin, term by term."""
    tail = sum(comb(b + c, k) for k in range(min(b, c) + 1)) / 2 ** (b + c)
    return min(1.0, 2 * tail)


@given(st.integers(1, 300), st.data())
def test_wilson_solves_its_quadratic(count, draw):
    """Both ends are 1.96 standard errors, of the end itself, from the rate."""
    solved = draw.draw(st.integers(0, count))
    low, high = wilson(solved, count)
    rate = solved / count

    def z(p):
        return (p - rate) * np.sqrt(count / (p * (1 - p)))

    if solved > 0:
        assert low == pytest.approx(halve(lambda p: z(p) + 1.959964, 1e-12, rate))
    if solved < count:
        assert high == pytest.approx(halve(lambda p: z(p) - 1.959964, rate, 1 - 1e-12))
    assert 0 <= low <= rate <= high <= 1


def test_wilson_of_textbooks():
    """81 of 263 (Newcombe 1998, Table I), nothing of 20, and no trials."""
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=1e-4)
    assert wilson(0, 20) == pytest.approx((0, 0.1611), abs=1e-4)
    assert wilson(0, 0) == (0, 1)


@given(Outcomes)
def test_mcnemar_is_a_sum_of_binomials(pairs):
    """And does not ask which of the two came first."""
    first, second = zip(*pairs, strict=True)
    b, c = discordant(first, second)
    assert mcnemar(first, second) == pytest.approx(binomial_p(b, c))
    assert mcnemar(first, second) == mcnemar(second, first)


def test_mcnemar_without_a_difference():
    """Nothing differs, nothing is found."""
    assert mcnemar([1, 0, 1], [1, 0, 1]) == 1


def test_bootstrap_resamples_queries():
    """Runs of a query that are copies of each other narrow nothing."""
    rng = np.random.default_rng(3)
    first, second = rng.random(40) < 0.8, rng.random(40) < 0.5
    once = bootstrap_difference(first, second, range(40))
    thrice = bootstrap_difference(
        np.tile(first, 3), np.tile(second, 3), [*range(40)] * 3
    )
    apart = bootstrap_difference(np.tile(first, 3), np.tile(second, 3), range(120))
    assert once == thrice
    assert apart.high - apart.low < 0.7 * (once.high - once.low)
    assert once.low < first.mean() - second.mean() < once.high


def test_bootstrap_is_seeded_and_signed():
    """The same seed, the same ends; swapped methods, swapped ends."""
    first, second = [1, 1, 1, 0, 1, 1], [0, 1, 0, 0, 1, 0]
    names = ["a", "a", "b", "b", "c", "c"]
    low, high = bootstrap_difference(first, second, names)
    assert (low, high) == bootstrap_difference(first, second, names)
    assert bootstrap_difference(second, first, names) == pytest.approx((-high, -low))


@given(
    st.lists(st.one_of(st.just(np.inf), st.integers(1, 40)), min_size=1, max_size=30),
    st.integers(1, 30),
)
def test_success_latches(frames, budget):
    """The curve is counted budget by budget, and ends at the budget that was run."""
    curve = success_curve(frames, budget)
    assert len(curve) == budget + 1
    counted = [np.mean([f <= t for f in frames]) for t in range(budget + 1)]
    np.testing.assert_allclose(curve, counted)


def test_arrival_ratio_is_of_successes():
    """The median of what was solved and has a recording to compare with."""
    frames = [10, 30, np.inf, 40, 5]
    assert arrival_ratio(frames, [20, 20, 20, 20, np.nan]) == 1.5
    assert arrival_ratio([np.inf], [20]) is None


def test_mean_and_std_over_seeds():
    """Rates 1, 0.5 and 0: mean 0.5, sample deviation 0.5; one seed has none."""
    mean, std = mean_and_std([1, 1, 1, 0, 0, 0], [7, 7, 8, 8, 9, 9])
    assert (mean, std) == (0.5, 0.5)
    assert mean_and_std([1, 0], [7, 7]) == (0.5, None)


@given(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=20)
)
def test_the_front_is_what_nobody_beats(points):
    """Compared pair by pair; equal points are told once."""
    gains, costs = zip(*points, strict=True)
    front = non_dominated(gains, costs)

    def beats(a, b):
        return a[0] >= b[0] and a[1] <= b[1] and a != b

    kept = {b for b in points if not any(beats(a, b) for a in points)}
    assert sorted(points[place] for place in front) == sorted(kept)
    assert [points[place][1] for place in front] == sorted(c for _, c in kept)
