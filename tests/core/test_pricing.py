"""Pricing: Λ is a quantile of what episodes do, κ its inverse in frames."""

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import metro
from metro.core import pricing
from metro.errors import PricingError
from perf.synthetic import make_latents

ascending = st.lists(
    st.floats(0, 1e6, allow_subnormal=False), min_size=1, max_size=12
).map(sorted)


@given(ascending, st.lists(st.floats(0, 2e6), min_size=2, max_size=20))
def test_price_is_monotone_and_within_one_and_budget(gaps, asked):
    """1 <= κ(δ) <= H, and a larger gap is never charged fewer frames."""
    curve = metro.PricingCurve(np.array(gaps))
    prices = curve.price(np.sort(asked))
    assert (prices >= 1).all()
    assert (prices <= len(gaps)).all()
    assert (np.diff(prices) >= 0).all()


@given(ascending)
def test_knots_are_charged_their_frames(gaps):
    """κ(Λ(d)) = the largest d of that plateau."""
    curve = metro.PricingCurve(np.array(gaps))
    for knot in gaps:
        largest = max(d for d, other in enumerate(gaps, start=1) if other == knot)
        assert curve.price(knot) == largest


def test_between_knots_it_is_linear_and_outside_clipped():
    """Eq. 5 with Λ = (1, 2, 4): halfway between 2 and 4 costs two and a half."""
    curve = metro.PricingCurve(np.array([1.0, 2.0, 4.0]))
    assert curve.price([0, 0.5, 1, 1.5, 3, 4, 9]).tolist() == [1, 1, 1, 1.5, 2.5, 3, 3]
    assert curve.price(np.inf) == 3
    assert curve.price(3.0).shape == ()
    assert (curve.radius, curve.waypoint_budget) == (4.0, 3)


def test_plateau_charges_the_larger_count():
    """Λ = (1, 2, 2, 3): a gap of exactly 2 costs three frames, just below it two."""
    curve = metro.PricingCurve(np.array([1.0, 2.0, 2.0, 3.0]))
    assert curve.price(2.0) == 3
    assert curve.price(np.nextafter(2.0, 0)) == pytest.approx(2)


def test_curve_is_the_running_maximum_of_quantiles():
    """An episode that returns to its start makes the quantile dip; Λ does not."""
    episode = np.array([[0.0], [3.0], [0.0], [3.0], [0.0]])
    curve = metro.PricingCurve.fit(metro.Latents.from_episodes([episode]), 3)
    assert curve.gaps.tolist() == [3.0, 3.0, 3.0]


@pytest.mark.parametrize("dim", [24, 21])
def test_compiled_gaps_have_the_same_bits(dim, monkeypatch):
    """A curve does not depend on who measured; odd dimensions stay with NumPy."""
    latents = make_latents(3000, episode_length=50, dim=dim)
    expected = metro.PricingCurve.fit(latents, 9).gaps
    monkeypatch.setattr(pricing, "COMPILED_FROM", 100)
    assert metro.PricingCurve.fit(latents, 9).gaps.tobytes() == expected.tobytes()


def test_short_episodes_count_where_they_can():
    """Episodes shorter than H, even of one frame, stand among longer ones."""
    long, short = np.arange(6.0)[:, None], np.array([[0.0], [10.0]])
    latents = metro.Latents.from_episodes([long, short, [[7.0]]])
    curve = metro.PricingCurve.fit(latents, 5, quantile=1.0)
    assert curve.gaps.tolist() == [10, 10, 10, 10, 10]
    assert metro.PricingCurve.fit(latents, 5).gaps.tolist() == [1, 2, 3, 4, 5]


def test_progress_is_reported():
    """fit says how many separations are done."""
    seen = []
    latents = metro.Latents.from_episodes([np.zeros((5, 1))])
    metro.PricingCurve.fit(latents, 3, progress=lambda *now: seen.append(now))
    assert seen == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("budget", [0, -1, 7, 8, 2.0, True, "3"])
def test_budget_out_of_range(budget):
    """H must be at least 1 and below the longest episode, which is named."""
    latents = metro.Latents.from_episodes([np.zeros((7, 1)), np.zeros((3, 1))])
    message = (
        f"waypoint_budget must be a whole number of frames, at least 1 and below "
        f"the longest episode (7 frames), got {budget!r}."
    )
    with pytest.raises(PricingError, match=f"^{re.escape(message)}$"):
        metro.PricingCurve.fit(latents, budget)


@pytest.mark.parametrize(
    "quantile", [-0.1, 1.1, float("nan"), "0.5", None, True, [0.25]]
)
def test_quantile_out_of_range(quantile):
    """α is a share, and one number."""
    latents = metro.Latents.from_episodes([np.zeros((7, 1))])
    with pytest.raises(PricingError, match=r"^quantile must be a number in \[0, 1\]"):
        metro.PricingCurve.fit(latents, 3, quantile)


@pytest.mark.parametrize("gaps", [[], [2.0, 1.0], [np.inf], [-1.0, 1.0], [[1.0]]])
def test_what_is_no_curve(gaps):
    """Empty, falling, infinite, negative or nested gaps are refused."""
    with pytest.raises(PricingError, match="^gaps must"):
        metro.PricingCurve(np.array(gaps))


@pytest.mark.parametrize("wrong", [-1.0, np.nan])
def test_what_has_no_price(wrong):
    """A gap is a distance."""
    curve = metro.PricingCurve(np.array([1.0]))
    with pytest.raises(PricingError, match="^A gap must be at least 0, got"):
        curve.price([0.0, wrong])
