"""All studies are listed, and found by their names."""

import json

import pytest
from typer.testing import CliRunner

from metro.cli import app
from metro.errors import BenchmarkError
from metro.studies.all_studies import STUDIES, find_study


def test_studies_are_listed(tmp_path):
    """By name, question and rows; a folder without rows is no error."""
    shown = CliRunner().invoke(app, ["study", "--results", str(tmp_path), "--json"])
    listed = json.loads(shown.output)
    assert [line["name"] for line in listed] == [study.name for study in STUDIES]
    assert {line["rows"] for line in listed} == {0}
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "offline-cost.jsonl").write_text(
        json.dumps({"study": "offline-cost"})
    )
    shown = CliRunner().invoke(app, ["study", "--results", str(tmp_path)])
    assert "offline-cost" in shown.output


def test_an_unknown_study_is_refused():
    """The error lists all names; for a study with a verb of its own, that verb."""
    with pytest.raises(
        BenchmarkError, match=r"There is no study 'x'\. There are .*re-e"
    ):
        find_study("x")
    failed = CliRunner().invoke(app, ["study", "x"])
    assert isinstance(failed.exception, BenchmarkError)
    failed = CliRunner().invoke(app, ["study", "saturation"])
    assert str(failed.exception).startswith(
        "saturation has a command of its own: metro satu"
    )


def test_a_missing_folder_of_results_is_refused():
    """A wrong name is not an empty list."""
    failed = CliRunner().invoke(app, ["study", "--results", "nosuch"])
    assert str(failed.exception).startswith("There is no folder nosuch.")
