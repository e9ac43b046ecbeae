"""Studies in a report."""

import json

import pytest
from row_makers import ROWS, study

from metro.report.build import results_markdown
from metro.report.inputs import ReportInputs, gather


@pytest.fixture
def folder(tmp_path):
    """A folder with everything that a report is made from."""
    place = tmp_path / "results"
    (place / "studies").mkdir(parents=True)
    (place / "pictures").mkdir()
    (place / "rows.jsonl").write_text("".join(json.dumps(r) + "\n" for r in ROWS))
    (place / "studies" / "one.jsonl").write_text('{"a": 1}\n{"a": 2}\n')
    (place / "pictures" / "film.gif").write_bytes(b"GIF89a")
    told = {"film.gif": {"caption": "A film.", "command": "metro demo"}}
    (place / "pictures" / "captions.json").write_text(json.dumps(told))
    (place / "preface.md").write_text(
        "# Results\n\nWords.\n\n## Found\n\n- **a** `b`\n"
    )
    return place


def test_studies_of_the_evaluation_and_of_nobody(folder):
    """Some read the evaluation's rows; rows that no study reads are told."""
    studies = (study(name="two", reads_evaluation=True),)
    page = results_markdown(gather([folder]), studies)
    assert "24 rows." in page
    assert "There are rows of one, but no study of this name: left out." in page
    assert "#### Study" not in page  # its heading is the study's own
    assert "![a plot](study-two-a.png)" in page
    assert "No study is known to this version." in results_markdown(ReportInputs(ROWS))
