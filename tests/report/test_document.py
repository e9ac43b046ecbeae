"""A page of blocks as Markdown and HTML."""

from metro.report.document import Heading, Table, to_markdown
from metro.report.html import to_html


def test_numbers_stay_together_in_a_table():
    """Lines break between numbers, not inside one."""
    wide = Table(("a",), (("98.0 [90, 100], n = 50",),), "b")
    page = to_html([Heading("c", 1), wide], {})
    assert "<td>98.0 [90,\u00a0100], n\u00a0=\u00a050</td>" in page


def test_a_table_is_markdown_with_its_source_below():
    """A bar inside a table's field is escaped; the caption is one line in italics."""
    table = Table(("a", "b"), (("1 | 2", "3"),), "n = 1.")
    text = to_markdown([table])
    assert text == "| a | b |\n| --- | --- |\n| 1 \\| 2 | 3 |\n\n*n = 1.*\n"
