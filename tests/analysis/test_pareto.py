"""Success against seconds of planning."""

import numpy as np
from row_makers import METRO

from metro.analysis.grouping import group_rows
from metro.analysis.pareto import at_budgets, pareto_front


def test_the_front_rises():
    """More seconds only for more success."""
    points = pareto_front(group_rows(METRO))
    assert np.all(np.diff([point.success for point in points]) > 0)
    assert np.all(np.diff([point.seconds for point in points]) > 0)
    assert points[-1].success == 7 / 8


def test_nothing_is_known_beyond_the_budget_of_a_run():
    """Budgets that were not run are left out; each one that was is there once."""
    (config,) = group_rows(METRO)
    points = at_budgets(config, [300, 150, 150, 301])
    assert [point.step_budget for point in points] == [150, 300]
