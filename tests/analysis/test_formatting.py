"""Numbers as text."""

import pytest

from metro.analysis.formatting import paper_percent, percent
from metro.analysis.paper import PaperResult


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
    one = PaperResult("a", "lewm", "metro", 75, 300, "Table 1", mean=mean, std=std)
    assert paper_percent(one) == text
