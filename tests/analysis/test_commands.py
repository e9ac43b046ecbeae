"""The command of every configuration."""

from row_makers import ROWS, hierarchical, only, row

from metro.analysis.commands import command_of_config
from metro.analysis.grouping import group_rows
from metro.report.build import results_markdown
from metro.report.inputs import ReportInputs


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
