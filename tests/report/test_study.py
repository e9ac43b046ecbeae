"""Where the rows of a study are, and how many."""

from row_makers import row, study

from metro.evaluation.records import append_records, pack_records
from metro.report.study import count_rows, files_of


def filled(folder):
    """Write rows of the evaluation, of the study ``one``, and of another study."""
    for name, count in (("a", 2), ("studies/one", 3), ("studies/one-more", 1)):
        (folder / name).parent.mkdir(exist_ok=True)
        append_records([row(query) for query in range(count)], folder / f"{name}.jsonl")
    return folder


def test_a_study_has_its_own_file(tmp_path):
    """Rows are in studies/NAME.jsonl, and not in a file whose name only begins so."""
    found = files_of(study(), filled(tmp_path))
    assert found == [tmp_path / "studies/one.jsonl"]
    assert count_rows(study(), tmp_path) == 3


def test_a_packed_file_counts_the_same(tmp_path):
    """Packing the rows of a study changes neither its file's name nor its rows."""
    packed = pack_records(filled(tmp_path) / "studies/one.jsonl")
    (tmp_path / "studies/one.jsonl").unlink(missing_ok=True)
    assert files_of(study(), tmp_path) == [packed]
    assert count_rows(study(), tmp_path) == 3


def test_some_studies_read_the_evaluation(tmp_path):
    """Such a study reads the files beside the folder of studies, and none inside."""
    reads = study(reads_evaluation=True)
    assert files_of(reads, filled(tmp_path)) == [tmp_path / "a.jsonl"]
    assert count_rows(reads, tmp_path) == 2


def test_a_study_that_was_not_run_has_no_rows(tmp_path):
    """A folder without rows is no error: there are no files, and zero rows."""
    assert files_of(study(), tmp_path) == []
    assert count_rows(study(), tmp_path) == 0
