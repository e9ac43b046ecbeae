"""What studies share: resuming, reading rows, and pairs."""

import pytest
from row_makers import FLAT, METRO, only, row, runs

from metro.evaluation.records import append_records, read_records
from metro.studies.common import (
    commits_of,
    measure_missing,
    pair_line,
    pair_up,
    parse_rows,
    require_once,
)
from study_makers import refused


def test_what_is_in_the_file_is_not_measured_again(tmp_path):
    """Old rows come from the file, new ones are measured once and appended."""
    path, measured = tmp_path / "a.jsonl", []
    append_records([{"n": 1, "result": "old"}], path)

    def wanted(n):
        def measure():
            measured.append(n)
            return {"n": n, "result": "new"}

        return {"n": n}, measure

    asked = [wanted(1), wanted(2), wanted(2)]
    found = list(measure_missing(asked, path, key=lambda one: one["n"]))
    assert [one["result"] for one in found] == ["old", "new", "new"]
    assert measured == [2]
    assert [one["n"] for one in read_records(path)] == [1, 2]


def test_rows_are_sorted_and_equal_ones_count_once():
    """The order and repetition of rows in a file do not change what is read."""
    rows = [{"n": 2}, {"n": 1}, {"n": 2}]
    assert parse_rows(rows, "s", lambda one: one["n"]) == [1, 2]


def test_a_row_that_cannot_be_read_is_shown():
    """The error has the study, the problem and the beginning of the row."""
    refused(
        "This is not a row of the study s (KeyError: 'n'): {\"m\": 1}. Remove it.",
        parse_rows, [{"m": 1}], "s", lambda one: one["n"],
    )  # fmt: skip


def test_no_rows_are_an_error():
    """A study without rows says so."""
    refused("There are no rows of the study s.", parse_rows, [], "s", dict)


def test_a_measurement_is_there_once():
    """Two results of one measurement are refused, with their number."""
    require_once(["a", "b"], "s")
    text = "The study s has a 2 times, with different results. Remove all but one."
    refused(text, require_once, ["a", "b", "a"], "s")


@pytest.mark.parametrize(
    ("commits", "text"),
    [
        (["abcdef0123456"], "commit abcdef012"),
        (["abcdef0123456+"], "commit abcdef012+"),
        (["b" * 9, "a" * 9], "commit aaaaaaaaa, bbbbbbbbb; rows of different versions"),
    ],
)  # fmt: skip
def test_commits_are_short_and_differences_are_told(commits, text):
    """Nine letters of a commit are shown, a mark of changed source is kept."""
    assert commits_of(row(versions={"commit": one}) for one in commits) == text


def test_pairs_are_of_common_runs_only():
    """Seed 7 is in both results and seed 8 in one: four pairs, at the shorter T."""
    short = runs({7: [90, None, None, None]}, plan_blocks=15, step_budget=150)
    pair = pair_up(only(METRO), only(short))
    assert pair.num_pairs == 4
    assert [result.over_seeds[0] for result in pair.both] == [0.5, 0.25]


def test_results_without_common_runs_are_no_pair():
    """Other seeds are other runs."""
    assert pair_up(only(METRO), only(runs({9: [50]}))) is None


def test_a_pair_is_told_in_six_texts():
    """Both rates come first, then the gain in points, and the pairs last."""
    texts = pair_line(pair_up(only(METRO), only(FLAT)))
    assert (texts[0][:5], texts[1][:5], texts[2], texts[5]) == (
        "87.50", "37.50", "+50.0", "8",
    )  # fmt: skip
