"""The paper's results beside ours."""

from row_makers import METRO, ROWS, hierarchical, only, row, runs

from metro.analysis.grouping import group_rows
from metro.analysis.reproduce import command_of_config, reproduce
from metro.report.build import results_markdown
from metro.report.inputs import ReportInputs


def test_reproduction_names_the_same_setting_or_our_best_or_a_command():
    """In this order; the command runs at 4 d, which answers for every smaller T."""
    same = runs({7: [140, 160], 8: [150, None]}, "metro", waypoint_budget=7)
    found = {
        (c.paper.method, c.paper.goal_distance, c.paper.step_budget): c
        for c in reproduce(METRO + same)
        if (c.paper.benchmark, c.paper.family) == ("tworoom", "lewm")
    }
    exact, best = found["metro", 75, 150], found["metro", 75, 90]
    assert (exact.is_same_cell, exact.ours.over_seeds[0]) == (True, 0.5)
    assert exact.to_json()["ours"]["mean"] == 50
    assert best.is_same_cell  # H = 8 at T = 90 is the paper's too
    assert not reproduce(METRO)[-1].is_same_cell
    missing = found["metro", 25, 50]
    assert missing.ours is None
    assert (
        "--graph tworoom.metro --waypoint-budget 8 --goal-distance 25"
        in missing.command
    )
    assert "--step-budget 100" in missing.command


def test_every_configuration_has_its_command():
    """The one that was typed, but for the names of files that rows do not have."""
    page = results_markdown(ReportInputs(ROWS))
    assert (
        "metro evaluate tworoom --corpus tworoom.h5 --model lewm-small-tworoom "
        "--method metro --graph GRAPH.metro --waypoint-budget 8 --goal-distance 75 "
        "--plan-blocks 1 --step-budget 300 --planner-seed 7 --planner-seed 8 "
        "-o rows.jsonl\n"
    ) in page
    hard = row(queries={"name": "hard.csv", "digest": "q"}, method="random", model=None)
    told = command_of_config(only([hard]))
    assert "--model ANY-MODEL --method random --goal-distance 75 --queries hard" in told
    high = only([row(method="hi-lewm-c", macro_steps=2)])
    assert "--macro MACRO.safetensors" in command_of_config(high)


def test_commands_name_options_and_macro_steps():
    rows = hierarchical(macro_steps=2, option="leave-one-out")
    (cell,) = group_rows(rows)
    command = command_of_config(cell)
    assert "--method hi-lewm-c --option leave-one-out --macro MACRO" in command
    assert "--macro-steps 2" in command
