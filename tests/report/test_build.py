"""Reports of rows made here."""

import random
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from row_makers import ROWS, row, runs

from metro.analysis.comparison import by_task
from metro.analysis.grouping import group_rows
from metro.errors import BenchmarkError, StorageError
from metro.report.build import results_markdown, title_of, titles_of, write_report
from metro.report.inputs import ReportInputs
from metro.report.overview import overview


def test_a_page_does_not_depend_on_the_order_of_rows():
    """The same rows shuffled, the same text."""
    page = results_markdown(ReportInputs(ROWS))
    mixed = random.Random(1).sample(ROWS, len(ROWS))
    assert results_markdown(ReportInputs(mixed)) == page
    assert "| metro | 1 | 8 | 300 | 87.5 | 52.9 to 97.8 | 87.50 ± 17.68 |" in page
    assert "100.00 ± 0.00 (T = 150)" in page


def test_every_table_says_where_it_comes_from():
    """n, seeds, query file, commit; and what was not run."""
    page = results_markdown(ReportInputs(ROWS)).split("## What is missing")[0]
    told = (
        "n = 4 queries x 2 planner seeds (7, 8); query file tworoom-d75.csv (q1); "
        "commit abcdef012."
    )
    assert page.count(told) == page.count("| --- |\n") - 1  # the overview has its own
    assert "Not run: oracle, committed, " in page


def test_a_report_is_not_written_over_a_file(tmp_path):
    (tmp_path / "rows.jsonl").write_text("kept")
    with pytest.raises(BenchmarkError, match="is a file"):
        write_report(ReportInputs(ROWS), tmp_path / "rows.jsonl")
    assert (tmp_path / "rows.jsonl").read_text() == "kept"


def test_a_folder_that_cannot_be_written_is_said_before_drawing(monkeypatch):
    """Drawing takes a minute."""
    monkeypatch.setattr("metro.report.build._draw", pytest.fail)
    with pytest.raises(StorageError, match=r"^The report was not written to /proc/x: "):
        write_report(ReportInputs(ROWS), Path("/proc/x"))


class Page(HTMLParser):
    """Collects what a page loads and how its tags nest."""

    def __init__(self):
        super().__init__()
        self.open, self.sources = [], []

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta", "img", "link"):
            self.open.append(tag)
        self.sources += [value for name, value in attributes if name in ("src", "href")]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_a_report_is_complete(tmp_path):
    """Markdown with its pictures beside it; one HTML page that loads nothing."""
    rows = [*ROWS, row(9, error="<b> & |", frames=None)]
    files = write_report(ReportInputs(rows), tmp_path / "new" / "report")
    assert [file.suffix for file in files] == [".md", ".html", *[".png"] * 3]
    text = files[0].read_text()
    for name in re.findall(r"\]\((.*?)\)", text):
        assert (files[0].parent / name).read_bytes().startswith(b"\x89PNG")
    page = Page()
    page.feed(files[1].read_text())
    assert page.open == []
    loaded = [source for source in page.sources if not source.startswith("#")]
    assert len(loaded) == 4
    assert loaded[0] == "data:,"  # no icon is asked for
    assert all(source.startswith("data:image/png;base64,") for source in loaded[1:])
    assert "&lt;b&gt; &amp; |" in files[1].read_text()


def test_a_report_is_titled_after_its_rows():
    """It names benchmark, model and file, unless a preface has a title."""
    tasks = by_task(group_rows(ROWS))
    own = ReportInputs(ROWS, files=("mine.jsonl",))
    assert title_of(own, tasks) == "Results: tworoom, lewm-small-tworoom (mine.jsonl)"
    many = ReportInputs(ROWS, files=tuple("abcde"))
    assert title_of(many, tasks) == "Results: tworoom, lewm-small-tworoom (5 files)"
    ours = ReportInputs(ROWS, preface="# Our results\n\n## Found\n\nWords.")
    assert title_of(ours, tasks) == "Our results"


def test_a_report_opens_with_the_figure(tmp_path):
    """Title, rows and the figure come before the first table."""
    text = write_report(ReportInputs(ROWS), tmp_path)[0].read_text()
    first = text.index("![Success against seconds of planning](opening.png)")
    assert text.index("# Results") < first < text.index("## Overview")


def test_no_paragraph_is_long():
    """No paragraph of ours has more than 400 characters: about four lines."""
    page = results_markdown(ReportInputs(ROWS)).split("## What is missing")[0]
    words = [part for part in page.split("\n\n") if part and part[0] not in "|*`#-"]
    assert max(map(len, words)) <= 400


def test_corpora_of_two_sizes_are_distinguished():
    """The same benchmark, model and distance, planned with more recordings."""
    corpus = {"name": "more.h5", "digest": "c2", "episodes": 18_685}
    asked = {"name": "more-d75.csv", "digest": "q2"}
    more = runs({7: [50, 80]}, "metro", corpus=corpus, queries=asked)
    tasks = by_task(group_rows([*ROWS, *more]))
    assert list(titles_of(by_task(group_rows(ROWS))).values()) == [
        "tworoom, lewm, d = 75"
    ]
    assert list(titles_of(tasks).values()) == [
        "tworoom, lewm, d = 75, more, 18,685 episodes",
        "tworoom, lewm, d = 75, tworoom, 2,000 episodes",
    ]
    assert [row[2] for row in overview(tasks).rows] == [
        "more, 18,685 episodes",
        "tworoom, 2,000 episodes",
    ]
