"""Grids of h and H, and what is best in them."""

import re

import pytest
from row_makers import row

from metro.analysis.grid_tables import grid, grid_table, parse_numbers
from metro.errors import BenchmarkError
from metro.evaluation.records import Setting


def make_row(blocks, waypoints, frames, *, seconds=1.0, budget=100, query=0):
    """Return a row of a sweep; only planning takes ``seconds``."""
    method = "flat" if waypoints is None else "metro"
    setting = {"plan_blocks": blocks, "waypoint_budget": waypoints}
    phases = {"plan": seconds, "step": 50.0}
    return row(query, 7, frames, method, **setting, step_budget=budget, seconds=phases)


def test_methods_without_a_graph_have_no_waypoint_budget():
    """A row of h; an H that was asked for is refused."""
    settings = grid("1,5", None, step_budget=50, planner_seeds=[7], method="flat")
    assert settings == [Setting("flat", h, None, 50, 7) for h in (1, 5)]
    rows = [make_row(1, None, 10), make_row(5, None, None)]
    assert [cell.to_text()[1:3] for cell in grid_table(rows, 100)] == [
        ["1", "-"],
        ["5", "-"],
    ]
    with pytest.raises(BenchmarkError, match="^waypoint_budget belongs to metro"):
        grid("1", "8", step_budget=50, planner_seeds=[7], method="flat")


def test_the_papers_grid():
    """H from 5 h - 5 to 5 h + 5, at least 1; every seed."""
    settings = grid("1-2", None, step_budget=300, planner_seeds=[7, 8])
    cells = {(s.plan_blocks, s.waypoint_budget) for s in settings}
    assert cells == {(1, budget) for budget in range(1, 11)} | {
        (2, budget) for budget in range(5, 16)
    }
    assert len(settings) == 2 * len(cells)


def test_lists_of_numbers():
    """Numbers and ranges."""
    assert parse_numbers("1,3-5, 9") == [1, 3, 4, 5, 9]


@pytest.mark.parametrize("text", ["", "a", "1-", "3-x", "-2", "1;2", "0"])
def test_bad_lists(text):
    """What a list looks like, and where it does not."""
    with pytest.raises(BenchmarkError, match=re.escape(repr(text))):
        parse_numbers(text)


def test_smaller_budgets_are_read_off():
    """Success within T is a count of frames to success; planning time shrinks too."""
    ends = (10, 30, None, 60)
    rows = [make_row(1, 8, frames, query=q) for q, frames in enumerate(ends)]
    found = {c.step_budget: c for c in grid_table(rows, goal_distance=25)}
    assert {budget: c.success for budget, c in found.items()} == {
        25: 0.25,
        30: 0.5,
        50: 0.5,
        100: 0.75,
    }
    assert found[100].seconds == 1.0
    assert found[25].seconds == pytest.approx((10 + 25 * 3) / 200)


def test_what_others_beat_is_not_best():
    """More success in as little time wins; the world's own time does not count."""
    rows = [
        make_row(1, 8, 20, seconds=1.0),
        make_row(2, 9, 20, seconds=2.0),
        make_row(3, 9, None, seconds=0.5, budget=25),
    ]
    best = {(c.plan_blocks, c.step_budget) for c in grid_table(rows, 25) if c.is_best}
    assert (1, 25) in best
    assert all(blocks != 2 for blocks, _ in best)
    assert (3, 25) in best


def test_the_budget_that_was_asked_for_is_told():
    """Also where it is no multiple of d; the search is paid whole at every T."""
    (cell,) = grid_table([make_row(1, 8, None, budget=5)], 25)
    assert cell.step_budget == 5
    long = make_row(1, 8, None, budget=130)
    long["seconds"] |= {"search": 3.0}
    cells = {cell.step_budget: cell.seconds for cell in grid_table([long], 75)}
    assert set(cells) == {75, 90, 130}
    assert cells[75] == pytest.approx(3 + (cells[130] - 3) * 75 / 130)


def test_budgets_that_were_not_run_are_left_out():
    """Nothing is said about T beyond what was planned."""
    cells = grid_table([make_row(1, 8, None, budget=50)], 25)
    assert {cell.step_budget for cell in cells} == {25, 30, 50}
