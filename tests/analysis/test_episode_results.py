"""Rows are read as they were written by any version; broken ones are refused."""

import json
import re

import pytest
from row_makers import METRO, only, row, runs

from metro.analysis.episode_results import load_records
from metro.analysis.grouping import group_rows
from metro.errors import BenchmarkError


def refused(rows, told):
    with pytest.raises(BenchmarkError, match=f"^{re.escape(told)}$"):
        group_rows(rows)


def test_older_rows_are_read():
    """guide is entry; what was not recorded is said."""
    old = row(seconds={"guide": 2.0, "plan": 6.0})
    del old["queries"], old["model"]["family"], old["versions"]["commit"]
    cell = only([old])
    assert cell.macro_overhead == 0.25
    assert (cell.task.family, cell.task.queries) == ("lewm", "not recorded")
    assert cell.runs[0].commit == "not recorded (release 0.1.0)"


def test_broken_rows_are_refused():
    """Which one, and what it lacks."""
    bare = row()
    del bare["setting"]
    with pytest.raises(BenchmarkError, match=r"KeyError: 'setting'.*Remove it\.$"):
        group_rows([bare])
    refused(
        [5], "This is not a row of metro evaluate (TypeError: 'int' object is not "
        "subscriptable): 5. Remove it.",
    )  # fmt: skip
    refused([], "There are no rows to report. Run metro evaluate first.")


@pytest.mark.parametrize(
    ("name", "value"),
    [("waypoint_budget", "eight"), ("macro_steps", [2]), ("option", 3)],
)
def test_values_of_another_type_are_refused(name, value):
    """Before anything is sorted or added up."""
    broken = row()
    broken["setting"][name] = value
    with pytest.raises(BenchmarkError, match=rf"TypeError: {name} is .*Remove it\.$"):
        group_rows([row(), broken])


def test_bad_files(tmp_path):
    """Absent, empty, cut in the middle; a last line cut short is left out."""
    file = tmp_path / "rows.jsonl"
    with pytest.raises(BenchmarkError, match="There is no .*rows.jsonl. metro eval"):
        load_records([file])
    file.write_text("")
    with pytest.raises(BenchmarkError, match="rows.jsonl has no rows. Run metro"):
        load_records([file])
    line = json.dumps(row())
    file.write_text(f"{line}\n{line[:30]}")
    assert load_records([file]) == [row()]
    file.write_text(f"{line[:30]}\n{line}\n")
    with pytest.raises(BenchmarkError, match="Line 1 of .* is not a row. Delete it"):
        load_records([file])


def test_rows_without_a_model_stand_beside_every_model():
    """Replays and floors do not look: they are in the section of each model."""
    other = {"name": "pldm-small-tworoom", "digest": "m2", "family": "pldm"}
    floor = runs({7: [None] * 4}, "random", model=None)
    rows = [*METRO, *runs({7: [9, 9, 9, 9]}, "metro", model=other), *floor]
    found = {(c.task.family, c.method) for c in group_rows(rows)}
    assert {("lewm", "random"), ("pldm", "random")} <= found
    alone = group_rows(floor)
    assert [cell.task.family for cell in alone] == ["none"]


def test_frames_that_are_no_number_are_refused():
    with pytest.raises(BenchmarkError, match=r"This is not a row of metro evaluate"):
        group_rows([row(0, 7, "x")])
