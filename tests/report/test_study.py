"""Studies: how many rows each has, and its part of a report."""

import json

import pytest
from row_makers import ROWS, row, study

from metro.evaluation.records import append_records, pack_records
from metro.report.build import results_markdown
from metro.report.inputs import ReportInputs, gather
from metro.report.study import count_rows


def filled(folder):
    """Write rows of the evaluation, of the study ``one``, and of another study."""
    for name, count in (("a", 2), ("studies/one", 3), ("studies/one-more", 1)):
        (folder / name).parent.mkdir(exist_ok=True)
        append_records([row(query) for query in range(count)], folder / f"{name}.jsonl")
    return folder


def test_a_study_has_its_own_file(tmp_path):
    """Rows are in studies/NAME.jsonl, and not in a file whose name only begins so."""
    assert count_rows(study(), filled(tmp_path)) == 3


def test_a_packed_file_counts_the_same(tmp_path):
    """Packing the rows of a study changes neither its file's name nor its rows."""
    pack_records(filled(tmp_path) / "studies/one.jsonl")
    (tmp_path / "studies/one.jsonl").unlink(missing_ok=True)
    assert count_rows(study(), tmp_path) == 3


def test_some_studies_read_the_evaluation(tmp_path):
    """Such a study reads the files beside the folder of studies, and none inside."""
    assert count_rows(study(reads_evaluation=True), filled(tmp_path)) == 2


def test_a_study_that_was_not_run_has_no_rows(tmp_path):
    """A folder without rows is no error."""
    assert count_rows(study(), tmp_path) == 0


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
    assert page.count("# Study\n") == 1
    assert "![a plot](study-two-a.png)" in page
    assert "No study is known to this version." in results_markdown(ReportInputs(ROWS))
