"""Methods side by side on one task."""

import pytest
from row_makers import METRO, ROWS, runs

from metro.analysis.comparison import differences, method_results, methods_of
from metro.analysis.grouping import group_rows


def test_flat_has_two_labels():
    """With the paper's h = d / 5, and with the best h."""
    found = methods_of(group_rows(ROWS))
    assert list(found) == ["metro", "flat (paper)", "flat (best h)"]
    budgets = {
        label: [
            (line.config.plan_blocks, line.step_budget)
            for line in method_results(label, some)
        ]
        for label, some in found.items()
    }
    assert budgets["flat (paper)"] == [(15, 150), (15, 300)]
    assert budgets["flat (best h)"][0] == (3, 150)
    assert budgets["metro"] == [(1, 150), (1, 300), (1, 290)]


def test_differences_are_of_pairs():
    """Metro against flat on the runs that both have, counted by hand."""
    pairs = differences(group_rows(ROWS))
    found = {(pair.second.label, pair.first.step_budget): pair for pair in pairs}
    pair = found["flat (paper)", 300]
    assert (pair.num_pairs, pair.only_first, pair.only_second) == (8, 4, 0)
    assert pair.gain == pytest.approx(7 / 8 - 3 / 8)
    assert pair.p_value == pytest.approx(2 / 2**4)
    assert pair.interval.low <= pair.gain <= pair.interval.high
    apart = runs({9: [50]}, plan_blocks=15)
    assert differences(group_rows(METRO + apart)) == []
