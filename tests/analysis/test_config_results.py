"""Success, seconds and the choice of the best configuration."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from row_makers import METRO, only, row, runs

from metro.analysis.config_results import (
    at_budgets,
    best_config,
    first_best_budget,
    pareto_front,
)
from metro.analysis.grouping import group_rows
from metro.errors import BenchmarkError
from metro.report.build import results_markdown
from metro.report.inputs import ReportInputs


def test_success_is_read_off_smaller_budgets_only():
    """Never beyond the budget that every run had."""
    cell = only([row(0, frames=40), row(1, frames=80, step_budget=150)])
    assert (cell.success(40), cell.success(80), cell.step_budget) == (0.5, 1, 150)
    told = "flat was run for 150 steps, success within 151 is not known"
    with pytest.raises(BenchmarkError, match=told):
        cell.success(151)


def test_the_best_config_has_the_most_success_within_t():
    """Most success within T; of equals the faster; none that stopped earlier."""
    slow = runs({7: [50, 80]}, plan_blocks=2, seconds={"plan": 9.0})
    fast = runs({7: [50, 90]}, plan_blocks=3, seconds={"plan": 3.0})
    brief = runs({7: [10, 10]}, plan_blocks=4, step_budget=100)
    cells = group_rows(slow + fast + brief)
    assert best_config(cells, 80).plan_blocks == 4
    assert best_config(cells[:2], 80).plan_blocks == 2
    assert best_config(cells, 120).plan_blocks == 3
    assert best_config(cells, 301) is None


def test_a_pilot_does_not_win():
    """A cell with fewer queries than others is not chosen, and that is said."""
    pilot = runs({7: [10]}, "metro", plan_blocks=2)
    cells = group_rows(METRO + pilot)
    assert best_config(cells, 300).plan_blocks == 1
    assert {point.config.plan_blocks for point in pareto_front(cells)} == {1}
    told = "Note: not chosen from, for they have less than 4 queries: metro, h = 2"
    assert told in results_markdown(ReportInputs(METRO + pilot))
    one_seed = runs({7: [10, 10, 10, 10]}, "metro", plan_blocks=2)
    assert best_config(group_rows(METRO + one_seed), 300).plan_blocks == 2


def test_one_lucky_seed_does_not_win_against_three():
    """Only seeds that all cells have are counted; of equals more runs are better."""
    three = runs({7: [10, None], 8: [None, None], 9: [None, None]}, "metro")
    lucky = runs({7: [10, None]}, "metro", plan_blocks=2, seconds={"plan": 0.1})
    better = runs({7: [10, 20]}, "metro", plan_blocks=2)
    other = runs({6: [10, 20]}, "metro", plan_blocks=2)
    assert best_config(group_rows(three + lucky), 300).plan_blocks == 1
    assert best_config(group_rows(three + better), 300).plan_blocks == 2
    assert best_config(group_rows(three + other), 300).plan_blocks == 2


def test_a_loser_of_one_seed_does_not_hide_the_others_seeds():
    """Two cells of three seeds are compared on all three of them."""
    early = runs({7: [10, 20], 8: [None, None], 9: [None, None]}, "metro")
    steady = runs({7: [10, None], 8: [10, 20], 9: [10, 20]}, "metro", plan_blocks=2)
    loser = runs({7: [None, None]}, "metro", plan_blocks=3)
    assert best_config(group_rows(early + steady), 300).plan_blocks == 2
    assert best_config(group_rows(early + steady + loser), 300).plan_blocks == 2


def test_seconds_follow_the_frames_acted():
    """The search is paid once, the rest in proportion to the frames."""
    cell = only(runs({7: [100, None]}, "metro"))
    assert cell.planning_seconds(300) == pytest.approx(10)
    assert cell.planning_seconds(100) == pytest.approx(2 + 8 * 200 / 400)
    assert cell.macro_overhead == pytest.approx(0.2)


def test_the_first_best_budget():
    """The smallest T, in whole blocks, with the success of the longest."""
    (cell,) = group_rows(METRO)
    assert first_best_budget(cell, 300) == 290
    assert first_best_budget(cell, 150) == 90


def test_methods_without_plans_have_no_overhead():
    (cell,) = group_rows(runs({7: [30]}, "random"))
    assert cell.macro_overhead is None


Seeds = st.dictionaries(
    st.sampled_from([7, 8, 9]),
    st.lists(st.sampled_from([10, 20, None]), min_size=2, max_size=2),
    min_size=1,
)


@given(st.lists(Seeds, min_size=1, max_size=5))
def test_the_best_config_follows_its_rule(found):
    """The rule of `best_config`, word by word, on every set of seeds and outcomes.

    1. It is among the best covered. 2. No configuration with more seeds is as good on
    its seeds. 3. None that remains has more success on the seeds that all have.
    """
    rows = [one for h, solves in enumerate(found, 1) for one in runs(solves, "metro",
            plan_blocks=h)]  # fmt: skip
    configs = group_rows(rows)
    best = best_config(configs, 300)

    def is_beaten(one):
        return any(
            set(other.seeds) > set(one.seeds)
            and other.success(300, one.seeds) >= one.success(300)
            for other in configs
        )

    assert best.num_queries == max(one.num_queries for one in configs)
    assert not is_beaten(best)
    rest = [one for one in configs if not is_beaten(one)]
    shared = set.intersection(*(set(one.seeds) for one in rest))
    assert best.success(300, shared) == max(one.success(300, shared) for one in rest)


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
