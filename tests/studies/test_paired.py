"""Metro beside another method: on common runs only, of made-up rows."""

import json

import pytest
from row_makers import runs
from typer.testing import CliRunner

from metro.cli import app
from metro.errors import BenchmarkError
from metro.studies.paired import render_oracle, render_re_entry
from study_makers import notes_of, table_of

METRO = runs({7: [50, 80, 140, 290], 8: [60, 90, 145, None]}, "metro")
COMMITTED = runs({7: [50, None, None, 290]}, "committed", waypoint_budget=8, graph="g1")
ORACLE = runs({7: [100, 140, None, None]}, "oracle", step_budget=150)


def test_re_entry_is_told_on_common_runs():
    """Only queries and seeds of both, at the longest T and at the paper's."""
    section = render_re_entry(METRO + COMMITTED)
    short, long, *missing = table_of(section)
    assert (short["T"], long["T"]) == ("150", "300")
    assert (long["metro"], long["committed"]) == ("100.00", "50.00")
    assert (long["points"], long["pairs"]) == ("+50.0", "4")
    assert (short["metro"], short["committed"]) == ("75.00", "25.00")
    assert (short["paper, metro"], short["paper, committed"]) == (
        "100.00 ± 0.00",
        "76.67 ± 4.16",
    )
    assert len(missing) == 7
    assert {line["committed"] for line in missing} == {"not run"}


def test_re_entry_compares_the_same_graph():
    """Another H is another question."""
    other = runs({7: [1, 1, 1, 1]}, "metro", waypoint_budget=9)
    assert render_re_entry(METRO + COMMITTED + other) == render_re_entry(
        METRO + COMMITTED
    )
    assert len(table_of(render_re_entry(other + COMMITTED))) == 8


def test_the_oracle_meets_the_best_metro():
    """Of several H the best; arrival is over each one's own successes."""
    rows = [
        row | {"demonstration_frames": 100}
        for row in METRO + ORACLE + runs({7: [None] * 4}, "metro", waypoint_budget=9)
    ]
    line = table_of(render_oracle(rows))[0]
    assert (line["H"], line["T"], line["pairs"]) == ("8", "150", "4")
    assert (line["metro"], line["oracle"]) == ("75.00", "50.00")
    assert (line["arrival, metro"], line["arrival, oracle"]) == ("0.80", "1.20")
    assert line["paper's arrivals"] == "0.93 and 1.65"


def test_rows_of_mixed_versions_are_told():
    """And two runs that disagree are refused, as in the evaluation's report."""
    other = [row | {"versions": {"commit": "fedcba9876543"}} for row in COMMITTED[:1]]
    section = render_re_entry(METRO + other + COMMITTED[1:])
    assert any("rows of different versions" in note for note in notes_of(section))
    twice = [*COMMITTED, COMMITTED[0] | {"frames_to_success": None}]
    with pytest.raises(BenchmarkError, match="seed 7 is there twice"):
        render_re_entry(METRO + twice)


def test_tables_from_the_command_line(tmp_path):
    """`metro study re-entry ROWS` prints what the report shows."""
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in METRO + COMMITTED))
    shown = CliRunner().invoke(app, ["study", "re-entry", str(file)])
    assert "| tworoom | lewm-small-tworoom | 75 | 1 | 8 | 300 |" in shown.output
    told = CliRunner().invoke(app, ["study", "oracle", str(file), "--json"])
    assert {line["oracle"] for line in json.loads(told.output)} == {"not run"}
