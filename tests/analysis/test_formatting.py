"""Numbers as text."""

import pytest

from metro.analysis.formatting import (
    ends,
    number,
    p_value_text,
    percent,
    plus_minus,
)
from metro.analysis.statistics import Interval


@pytest.mark.parametrize(
    ("mean", "std", "text"),
    [(0.62666, 0.0462, "62.67 ± 4.62"), (1, None, "100.00"), (0.5, 0, "50.00 ± 0.00")],
)
def test_shares_are_printed_in_percent(mean, std, text):
    """Shares have two decimals; a deviation of zero is printed, an absent one not."""
    assert percent(mean, std) == text


@pytest.mark.parametrize(
    ("mean", "std", "text"),
    [(62.67, 4.62, "62.67 ± 4.62"), (9.5, None, "9.50"), (None, None, "-")],
)
def test_the_papers_numbers_are_percent_already(mean, std, text):
    """A number of the paper is printed as it stands there; an absent one is a dash."""
    assert plus_minus(mean, std) == text


def test_what_is_not_known_is_a_dash():
    """Numbers have the format that is asked for; an absent one is a dash."""
    assert (number(8), number(0.456, ".2f"), number(None, ".2f")) == ("8", "0.46", "-")


def test_intervals_are_printed_in_percent():
    """Ends of a difference have a sign, ends of a share have none."""
    assert ends(Interval(0.123, 0.5)) == "12.3 to 50.0"
    assert ends(Interval(-0.04, 0.21), "+") == "-4.0 to +21.0"


def test_a_p_value_is_never_zero():
    """A small p value is a bound."""
    assert (p_value_text(0.0004), p_value_text(0.04)) == ("< 0.001", "0.040")
