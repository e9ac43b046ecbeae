"""The report in a real browser: nothing broken, nothing fetched, nothing cut off."""

from pathlib import Path

import pytest
from browser import Browser, find_browser

from metro.report.build import write_report
from metro.report.document import Picture, Table, Text
from metro.report.html import prose_to_html, sections
from metro.report.inputs import ReportInputs, gather
from metro.report.study import Section, Study
from metro.studies.all_studies import STUDIES

RESULTS = Path(__file__).parents[2] / "results"
LOOKS = [(1280, False), (1280, True), (390, False), (390, True)]

if find_browser() is None:
    pytest.skip(
        "There is no chromium here, so no page is looked at: make browser",
        allow_module_level=True,
    )


def studies(plot):
    """Return a study that was run, with a plot and a wide table, and another."""
    wide = Table(tuple("abcdefghijkl"), (("a long word " * 3,) * 12,), "n = 1.")
    blocks = (Text("It was."), Picture("plot.png", "A plot"), wide)
    return (
        Study("one", "Was it run?", "Whether it was run.", "metro study one",
              lambda rows: Section(blocks, {"plot.png": plot})),
        Study("two", "Was it not?", "Whether it was not.", "metro study two",
              lambda rows: Section(())),
    )  # fmt: skip


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The page of our own results at d = 75, with a study that was run."""
    ours = gather([RESULTS])
    far = [r for r in ours.rows if r["query"]["goal"] - r["query"]["start"] == 75]
    plot = next(p.content for p in ours.pictures if p.name.endswith(".png"))
    inputs = ReportInputs(far, {"one": [{}]}, ours.pictures, ours.preface)
    return write_report(inputs, tmp_path_factory.mktemp("report"), studies(plot))[1]


@pytest.fixture(scope="module")
def browser(tmp_path_factory, report):
    """A browser with the page open."""
    opened = Browser(find_browser(), tmp_path_factory.mktemp("profile"))
    opened.look(1280)
    opened.open(report)
    yield opened
    opened.close()


def test_the_page_is_small_enough(report):
    """Less than 8 MB, all pictures included."""
    assert 100_000 < report.stat().st_size < 8_000_000


def test_nothing_is_fetched_and_nothing_complains(browser, report):
    """One file, no other request; no error on the console."""
    asked = {
        sent["request"]["url"] for sent in browser.told("Network.requestWillBeSent")
    }
    assert {url for url in asked if not url.startswith("data:")} == {report.as_uri()}
    for kind in (
        "Log.entryAdded",
        "Runtime.exceptionThrown",
        "Runtime.consoleAPICalled",
    ):
        assert browser.told(kind) == []


def test_every_picture_is_decoded_and_described(browser):
    """Each has pixels and an alternative text."""
    found = browser.evaluate(
        "Promise.all([...document.images].map(i => i.decode().then("
        "() => [i.naturalWidth, i.alt.length])))"
    )
    assert len(found) > 15
    assert all(width > 0 and words > 0 for width, words in found)


def test_every_anchor_leads_somewhere(browser):
    """Names are there once; every link has one; every section has a link."""
    links, names = browser.evaluate(
        "[[...document.querySelectorAll('a[href^=\"#\"]')].map(a => a.hash.slice(1)),"
        "[...document.querySelectorAll('[id]')].map(e => e.id)]"
    )
    assert len(names) == len(set(names))
    assert set(links) <= set(names)
    assert {"overview", "studies", "what-differs-from-the-paper"} <= set(links)


def test_the_overview_is_seen_whole_on_a_laptop(browser):
    """Its tables need no scrolling at 1280 pixels."""
    browser.look(1280)
    shown, wide = browser.evaluate(
        "(t => [t.clientWidth, t.scrollWidth])("
        "document.querySelector('#overview ~ .table'))"
    )
    assert wide <= shown


def test_the_whole_page_of_this_repository(tmp_path_factory):
    """Every task, study and picture that is committed: it loads without a complaint."""
    page = write_report(gather([RESULTS]), tmp_path_factory.mktemp("whole"), STUDIES)[1]
    opened = Browser(find_browser(), tmp_path_factory.mktemp("profile"))
    try:
        opened.look(1280)
        opened.open(page)
        widths = opened.evaluate(
            "Promise.all([...document.images].map(i => i.decode().then("
            "() => i.naturalWidth)))"
        )
        assert len(widths) > 60
        assert min(widths) > 0
        for kind in ("Log.entryAdded", "Runtime.exceptionThrown"):
            assert opened.told(kind) == []
        told = opened.evaluate("document.body.innerText")
        for title in ("Are sub-goals realisable?", "Corpus size", "Offline cost"):
            assert title in told
    finally:
        opened.close()


@pytest.mark.parametrize(("width", "dark"), LOOKS)
def test_nothing_sticks_out(browser, width, dark):
    """On a desktop and on a phone, all parts open: boxes scroll, the page does not."""
    browser.look(width, dark=dark)
    browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    assert browser.evaluate("document.documentElement.scrollWidth") <= width
    boxes = browser.evaluate(
        "[...document.querySelectorAll('main > *, .table, figure')].map("
        "e => e.getBoundingClientRect().right)"
    )
    assert max(boxes) <= width
    browser.evaluate(
        "document.querySelectorAll('details').forEach(d => d.open = false)"
    )


@pytest.mark.parametrize("dark", [False, True])
def test_words_stand_out(browser, dark):
    """Contrast of text and quiet text with the page is 4.5 at least (WCAG AA)."""
    browser.look(1280, dark=dark)
    found = browser.evaluate(
        "[getComputedStyle(document.body).backgroundColor,"
        "...['p', '.source', 'nav a'].map("
        "s => getComputedStyle(document.querySelector(s)).color)]"
    )
    paper, *inks = (_luminance(colour) for colour in found)
    for ink in inks:
        low, high = sorted([ink, paper])
        assert (high + 0.05) / (low + 0.05) > 4.5
    assert (paper < 0.1) == dark


def _luminance(colour):
    parts = [int(part) / 255 for part in colour[4:-1].split(",")]
    linear = [p / 12.92 if p < 0.04 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_paper_shows_what_is_folded(browser):
    """Printing works, and opens every part."""
    browser.look(1280)
    browser.evaluate(
        "document.querySelectorAll('details').forEach(d => d.open = false)"
    )
    printed = browser.print()
    assert printed.startswith(b"%PDF")
    assert printed.count(b"/Type /Page\n") > 10
    assert browser.evaluate(
        "[...document.querySelectorAll('details')].every(d=>d.open)"
    )


def test_words_by_hand():
    """What our Markdown means, in HTML; links to files are words only."""
    text = (
        "A *b* [c](d.md) [e](https://f.g) <h>\n\n- **i**\n  j\n- k\n\n"
        "| l | m |\n|---|---|\n| `n` | o |\n\n```\n## p\n\nq < r\n```\n"
    )
    page = prose_to_html(text)
    assert '<p>A <em>b</em> c <a href="https://f.g">e</a> &lt;h&gt;</p>' in page
    assert "<ul>\n<li><strong>i</strong>\nj</li>\n<li>k</li>\n</ul>" in page
    assert "<tr>\n<td><code>n</code></td>\n<td>o</td>\n</tr>" in page
    assert "<pre><code>## p\n\nq &lt; r\n</code></pre>" in page
    found = sections("# T\n\nx\n\n## One\n\n```\n## no\n```\n\n---\n")
    assert found == [("", "x"), ("One", "```\n## no\n```")]
