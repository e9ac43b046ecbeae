"""The verbs that turn rows into tables and plots."""

import json

from row_makers import ROWS
from typer.testing import CliRunner

from metro.analysis.paper import load_paper_results
from metro.cli import app
from metro.report.overview import headline_rows


def test_the_verbs(tmp_path):
    """metro report and metro reproduce, with and without --json."""
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in ROWS))

    def run(*words):
        done = CliRunner().invoke(app, [*map(str, words)], env={"COLUMNS": "200"})
        assert done.exit_code == 0, done.output
        return done.output

    out = tmp_path / "report"
    assert run("report", file, "-o", out).startswith(
        f"24 rows: wrote {out}/report.html, "
    )
    lines = json.loads(run("report", file, "-o", out, "--json"))
    assert lines == json.loads(json.dumps(headline_rows(ROWS)))
    assert {line["method"] for line in lines} >= {"metro (best T)", "flat (best h)"}
    shown = run("reproduce", file)
    assert "(our best: h = 1, H = 8)" in shown
    assert "metro evaluate cube" in shown
    checks = json.loads(run("reproduce", file, "--json"))
    assert len(checks) == len(load_paper_results())
