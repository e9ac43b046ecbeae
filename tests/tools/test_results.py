"""The tables of the results pages and of the README are those of the rows."""

import re

import pytest
import results

PAGES = [
    (results.PAGE, results.PAGE_TABLES, 200),
    (results.DETAILS, results.DETAILS_TABLES, 300),
]


@pytest.mark.parametrize(("page", "tables", "lines"), PAGES)
def test_a_results_page_is_up_to_date(page, tables, lines):
    """Every table is computed from rows; run `make docs` if this fails."""
    assert page.read_text() == results.render(page, tables)


@pytest.mark.parametrize(("page", "tables", "lines"), PAGES)
def test_a_results_page_is_short(page, tables, lines):
    """A page has at most that many lines, and no paragraph is longer than five."""
    text = page.read_text()
    assert len(text.splitlines()) <= lines
    paragraphs = re.split(r"\n\s*\n", re.sub(r"^[|<-].*$", "", text, flags=re.M))
    assert max(len(part.strip().splitlines()) for part in paragraphs) <= 5


def test_numbers_of_the_page_are_in_tables():
    """Words on the results page hold no success rate: those would not be checked."""
    page = results.PAGE.read_text().replace("95 %", "")
    words = re.sub(r"(?s)<!-- [\w-]+: begin -->.*?end -->", "", page)
    assert re.findall(r"\d %", words) == []


def test_every_computed_table_says_where_it_comes_from():
    """The line below names rows or a command, and the commits."""
    for tables in (results.PAGE_TABLES, results.DETAILS_TABLES):
        for name, make in tables.items():
            caption = make().caption
            assert "commit" in caption, name
            assert "`metro " in caption or "`python -m" in caption or "rows" in caption


def test_the_readme_has_a_row_per_world():
    """The README's table is up to date: four worlds at d = 75."""
    readme = results.README.read_text()
    assert readme == results.render_readme()
    table = results.readme_table()
    assert table in readme
    assert re.findall(r"^\| ([A-Z]\w+) \(", table, re.M) == [
        "TwoRoom", "Reacher", "Cube", "PushT",
    ]  # fmt: skip


def test_an_unknown_marker_is_refused(tmp_path):
    """A page whose markers are not those of its tables is an error, not skipped."""
    page = tmp_path / "page.md"
    page.write_text("<!-- other: begin -->\n<!-- other: end -->\n")
    with pytest.raises(ValueError, match=r"marks \['other'\], we have \['mine'\]"):
        results.render(page, {"mine": lambda: None})
