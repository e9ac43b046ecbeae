"""The tables of one task."""

from row_makers import ROWS, row

from metro.analysis.comparison import method_results
from metro.analysis.grouping import group_rows
from metro.report.tables import arrival_of, by_tag


def test_arrival_leaves_solved_starts_out():
    """They would arrive before anything happened."""
    rows = [row(0, frames=60, demonstration_frames=30)]
    rows += [row(1, frames=1, demonstration_frames=1, is_presolved=True)]
    (line, *_) = method_results("flat (best h)", group_rows(rows))
    assert arrival_of(line) == 2
    assert (line.success, line.success_nontrivial) == (1, 1)


def test_success_by_tag():
    """A column for each kind of query; no table without tags."""
    assert by_tag(group_rows(ROWS)) is None
    tagged = [row(0, frames=9, tags=["on_table"]), row(1), row(2)]
    table = by_tag(group_rows(tagged))
    assert table.header[2:] == ("on_table", "untagged")
    assert table.rows[0][2:] == ("100.0 (21 to 100), n = 1", "0.0 (0 to 66), n = 2")
