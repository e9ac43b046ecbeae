"""Rows made here, and what reports say about them."""

import json
import random
import re
import sys
from html.parser import HTMLParser

import numpy as np
import pytest
from row_makers import row, runs
from typer.testing import CliRunner

from metro.analysis.commands import command_of_cell
from metro.analysis.comparison import by_task, differences, lines_of, methods_of
from metro.analysis.config_results import best_cell, first_best_budget, front
from metro.analysis.episode_results import load_records
from metro.analysis.grouping import make_cells
from metro.analysis.paper import load_paper_cells, read_paper_cells
from metro.analysis.reproduce import reproduce
from metro.benchmark import benchmark_names, load_benchmark
from metro.cli import app
from metro.errors import BenchmarkError, MissingExtra
from metro.report.ablations import ablations
from metro.report.build import results_markdown, titles_of, write_report
from metro.report.document import Heading, Picture, Table, Text
from metro.report.headline_metrics import key_figures
from metro.report.html import to_html
from metro.report.inputs import ReportInputs, gather
from metro.report.markdown_html import prose_to_html, sections
from metro.report.overview import overview
from metro.report.study import Section, Study
from metro.report.summary import headline_rows
from metro.report.tables import arrival_of, by_tag
from metro.studies import registry

METRO = runs({7: [50, 80, 200, None], 8: [60, 90, 210, 290]}, "metro")
FLAT = runs({7: [90, None, None, None], 8: [95, 280, None, None]}, plan_blocks=15)
SHORT = runs({7: [100, 140, None, None], 8: [None, 149, None, None]}, plan_blocks=3)
ROWS = METRO + FLAT + SHORT


def only(rows):
    (cell,) = make_cells(rows)
    return cell


def refused(rows, told):
    with pytest.raises(BenchmarkError, match=f"^{re.escape(told)}$"):
        make_cells(rows)


def test_rows_of_one_setting_are_a_cell():
    """Seeds and queries together; another h, H, model or query file apart."""
    assert len(make_cells(ROWS)) == 3
    other = [{**ROWS[0], "model": {"name": "lewm-small-tworoom", "digest": "m2"}}]
    other += [{**ROWS[0], "queries": {"name": "hard.csv", "digest": "q2"}}]
    assert len(make_cells(ROWS + other)) == 5
    assert only([row(extra="columns are fine")]).setting == (1, None)


def test_success_is_read_off_smaller_budgets_only():
    """Never beyond the budget that every run had."""
    cell = only([row(0, frames=40), row(1, frames=80, step_budget=150)])
    assert (cell.success(40), cell.success(80), cell.step_budget) == (0.5, 1, 150)
    told = "flat was run for 150 steps, success within 151 is not known"
    with pytest.raises(BenchmarkError, match=told):
        cell.success(151)


def test_the_longest_of_two_runs_speaks():
    """The same question at two budgets: a run answers for every smaller one."""
    cell = only([row(step_budget=100), row(frames=150)])
    assert (cell.frames, len(cell.notes)) == ([150], 1)
    cell = only([row(step_budget=100, frames=60), row(frames=150)])
    assert cell.notes[1] == "of them ended otherwise than the longest run: 1"


def test_the_same_row_twice_is_one():
    """Told in a note; two that disagree are refused."""
    cell = only([row(frames=9), row(frames=9)])
    assert len(cell.outcomes) == 1
    assert cell.notes == ("rows left out, for the longest run of a question counts: 1",)
    refused(
        [row(frames=9), row(frames=None)],
        "tworoom, flat, h = 1, query 0,5,80, seed 7 is there twice: solved after 9 "
        "frames and not solved. Remove one run.",
    )


def test_what_a_reader_has_to_know():
    """Mixed versions, dead environments and missing seeds are noted."""
    rows = [row(0, 7), row(0, 8), row(1, 7, 30, error="it died")]
    rows[0]["versions"] = {"commit": "fedcba9876543+"}
    cell = only(rows)
    assert cell.success(300) == 0
    assert cell.notes == (
        "rows of different versions: abcdef012, fedcba987+",
        "the environment died in 1 of 3 runs, counted as not solved (it died)",
        "not every query has every seed",
    )


def test_older_rows_are_read():
    """guide is entry; what was not recorded is said."""
    old = row(seconds={"guide": 2.0, "plan": 6.0})
    del old["queries"], old["model"]["family"], old["versions"]["commit"]
    cell = only([old])
    assert cell.macro_overhead == 0.25
    assert (cell.task.family, cell.task.queries) == ("lewm", "not recorded")
    assert cell.outcomes[0].commit == "not recorded (release 0.1.0)"


def test_broken_rows_are_refused():
    """Which one, and what it lacks."""
    bare = row()
    del bare["setting"]
    with pytest.raises(BenchmarkError, match=r"KeyError: 'setting'.*Remove it\.$"):
        make_cells([bare])
    refused(
        [5], "This is not a row of metro evaluate (TypeError: 'int' object is not "
        "subscriptable): 5. Remove it.",
    )  # fmt: skip
    refused([], "There are no rows to report. Run metro evaluate first.")


def test_bad_files(tmp_path):
    """Absent, empty, cut in the middle; a last line cut short is left out."""
    file = tmp_path / "rows.jsonl"
    with pytest.raises(BenchmarkError, match="There is no .*rows.jsonl. metro eval"):
        load_records([file])
    file.write_text("")
    with pytest.raises(BenchmarkError, match="rows.jsonl has no rows. Run metro"):
        load_records([file])
    line = json.dumps(row())
    file.write_text(f"{line}\n{line[:30]}")
    assert load_records([file]) == [row()]
    file.write_text(f"{line[:30]}\n{line}\n")
    with pytest.raises(BenchmarkError, match="Line 1 of .* is not a row. Delete it"):
        load_records([file])


def test_the_best_cell():
    """Most success within T; of equals the faster; none that stopped earlier."""
    slow = runs({7: [50, 80]}, plan_blocks=2, seconds={"plan": 9.0})
    fast = runs({7: [50, 90]}, plan_blocks=3, seconds={"plan": 3.0})
    brief = runs({7: [10, 10]}, plan_blocks=4, step_budget=100)
    cells = make_cells(slow + fast + brief)
    assert best_cell(cells, 80).plan_blocks == 4
    assert best_cell(cells[:2], 80).plan_blocks == 2
    assert best_cell(cells, 120).plan_blocks == 3
    assert best_cell(cells, 301) is None


def test_a_pilot_does_not_win():
    """A cell with fewer queries than others is not chosen, and that is said."""
    pilot = runs({7: [10]}, "metro", plan_blocks=2)
    cells = make_cells(METRO + pilot)
    assert best_cell(cells, 300).plan_blocks == 1
    assert {point.cell.plan_blocks for point in front(cells)} == {1}
    told = "Note: not chosen from, for they have less than 4 queries: metro, h = 2"
    assert told in results_markdown(ReportInputs(METRO + pilot))
    one_seed = runs({7: [10, 10, 10, 10]}, "metro", plan_blocks=2)
    assert best_cell(make_cells(METRO + one_seed), 300).plan_blocks == 2


def test_one_lucky_seed_does_not_win_against_three():
    """Only seeds that all cells have are counted; of equals more runs are better."""
    three = runs({7: [10, None], 8: [None, None], 9: [None, None]}, "metro")
    lucky = runs({7: [10, None]}, "metro", plan_blocks=2, seconds={"plan": 0.1})
    better = runs({7: [10, 20]}, "metro", plan_blocks=2)
    other = runs({6: [10, 20]}, "metro", plan_blocks=2)
    assert best_cell(make_cells(three + lucky), 300).plan_blocks == 1
    assert best_cell(make_cells(three + better), 300).plan_blocks == 2
    assert best_cell(make_cells(three + other), 300).plan_blocks == 2


def test_a_loser_of_one_seed_does_not_hide_the_others_seeds():
    """Two cells of three seeds are compared on all three of them."""
    early = runs({7: [10, 20], 8: [None, None], 9: [None, None]}, "metro")
    steady = runs({7: [10, None], 8: [10, 20], 9: [10, 20]}, "metro", plan_blocks=2)
    loser = runs({7: [None, None]}, "metro", plan_blocks=3)
    assert best_cell(make_cells(early + steady), 300).plan_blocks == 2
    assert best_cell(make_cells(early + steady + loser), 300).plan_blocks == 2


def test_seconds_follow_the_frames_acted():
    """The search is paid once, the rest in proportion to the frames."""
    cell = only(runs({7: [100, None]}, "metro"))
    assert cell.planning_seconds(300) == pytest.approx(10)
    assert cell.planning_seconds(100) == pytest.approx(2 + 8 * 200 / 400)
    assert cell.macro_overhead == pytest.approx(0.2)


def test_the_front_rises():
    """More seconds only for more success."""
    points = front(make_cells(METRO))
    assert np.all(np.diff([point.success for point in points]) > 0)
    assert np.all(np.diff([point.seconds for point in points]) > 0)
    assert points[-1].success == 7 / 8


def test_the_first_best_budget():
    """The smallest T, in whole blocks, with the success of the longest."""
    (cell,) = make_cells(METRO)
    assert first_best_budget(cell, 300) == 290
    assert first_best_budget(cell, 150) == 90


def test_flat_is_told_twice():
    """With the paper's h = d / 5, and with the best h."""
    found = methods_of(make_cells(ROWS))
    assert list(found) == ["metro", "flat (paper)", "flat (best h)"]
    budgets = {
        label: [
            (line.cell.plan_blocks, line.step_budget) for line in lines_of(label, c)
        ]
        for label, c in found.items()
    }
    assert budgets["flat (paper)"] == [(15, 150), (15, 300)]
    assert budgets["flat (best h)"][0] == (3, 150)
    assert budgets["metro"] == [(1, 150), (1, 300), (1, 290)]


def test_differences_are_of_pairs():
    """Metro against flat on the runs that both have, counted by hand."""
    found = {(d.second, d.step_budget): d for d in differences(make_cells(ROWS))}
    pair = found["flat (paper)", 300]
    assert (pair.num_pairs, pair.only_first, pair.only_second) == (8, 4, 0)
    assert pair.gain == pytest.approx(7 / 8 - 3 / 8)
    assert pair.p_value == pytest.approx(2 / 2**4)
    assert pair.interval.low <= pair.gain <= pair.interval.high
    apart = runs({9: [50]}, plan_blocks=15)
    assert differences(make_cells(METRO + apart)) == []


def test_arrival_leaves_solved_starts_out():
    """They would arrive before anything happened."""
    rows = [row(0, frames=60, demonstration_frames=30)]
    rows += [row(1, frames=1, demonstration_frames=1, is_presolved=True)]
    (line, *_) = lines_of("flat (best h)", make_cells(rows))
    assert arrival_of(line) == 2
    assert (line.success, line.without_presolved) == (1, 1)


def test_the_overview_tells_which_h_won_and_how_many_pairs_there_are():
    """Eight pairs have no interval, twelve have one."""
    (told,) = overview(by_task(make_cells(ROWS)), []).rows
    assert told[:4] == (
        "tworoom",
        "lewm-small-tworoom",
        "tworoom, 2,000 episodes",
        "75",
    )
    assert told[6] == "37.5 [14, 69], n = 8, h = 3 of 3, 15"
    assert told[8] == "+12.5 (8 pairs)"
    twelve = {7: [50] * 9 + [None] * 3}
    more = runs(twelve, "metro") + runs({7: [None] * 8 + [50] * 4}, plan_blocks=3)
    (told,) = overview(by_task(make_cells(more)), []).rows
    assert re.fullmatch(r"\+41\.7 \[[+-]\d+, \+\d+\], 12 pairs", told[8])


def test_corpora_of_two_sizes_are_told_apart():
    """The same benchmark, model and distance, planned with more recordings."""
    corpus = {"name": "more.h5", "digest": "c2", "episodes": 18_685}
    asked = {"name": "more-d75.csv", "digest": "q2"}
    more = runs({7: [50, 80]}, "metro", corpus=corpus, queries=asked)
    tasks = by_task(make_cells([*ROWS, *more]))
    assert list(titles_of(by_task(make_cells(ROWS))).values()) == [
        "tworoom, lewm, d = 75"
    ]
    assert list(titles_of(tasks).values()) == [
        "tworoom, lewm, d = 75, more, 18,685 episodes",
        "tworoom, lewm, d = 75, tworoom, 2,000 episodes",
    ]
    assert [row[2] for row in overview(tasks, []).rows] == [
        "more, 18,685 episodes",
        "tworoom, 2,000 episodes",
    ]


def test_a_method_looks_the_same_in_every_plot():
    """Whatever else is drawn; its options share its colour, in dashes."""
    pytest.importorskip("matplotlib")
    from metro.report.plots import _PLACES, COLOURS, _look

    looks = [_look(name)["color"] for name in _PLACES]
    assert len(set(looks)) == len(_PLACES) <= len(COLOURS)
    boxed = {"color": _look("hi-lewm")["color"], "linestyle": "dashed"}
    assert _look("hi-lewm (box)") == boxed


def test_success_by_tag():
    """A column for each kind of query; no table without tags."""
    assert by_tag(make_cells(ROWS)) is None
    tagged = [row(0, frames=9, tags=["on_table"]), row(1), row(2)]
    table = by_tag(make_cells(tagged))
    assert table.header[2:] == ("on_table", "untagged")
    assert table.rows[0][2:] == ("100.0 (21 to 100), n = 1", "0.0 (0 to 66), n = 2")


def test_a_page_does_not_depend_on_the_order_of_rows():
    """The same rows shuffled, the same text."""
    page = results_markdown(ReportInputs(ROWS))
    mixed = random.Random(1).sample(ROWS, len(ROWS))
    assert results_markdown(ReportInputs(mixed)) == page
    assert "| metro | 1 | 8 | 300 | 87.5 | 52.9 to 97.8 | 87.50 ± 17.68 |" in page
    assert "100.00 ± 0.00 (T = 150)" in page


def test_every_table_says_where_it_comes_from():
    """n, seeds, query file, commit; and what was not run."""
    page = results_markdown(ReportInputs(ROWS)).split("## Studies")[0]
    told = (
        "n = 4 queries x 2 planner seeds (7, 8); query file tworoom-d75.csv (q1); "
        "commit abcdef012."
    )
    assert page.count(told) == page.count("| --- |\n") - 1  # the overview has its own
    assert "Not run: oracle, committed, " in page


def test_what_is_missing_is_told():
    missing = results_markdown(ReportInputs(ROWS)).split("## What is missing")[1]
    lines = {line.split(" | ")[0]: line for line in missing.splitlines()}
    assert "fewer than 150 runs" in lines["| task"]
    assert lines["| tworoom, lewm, d = 75"].endswith("metro 8, flat 8 |")
    assert lines["| tworoom, pldm, d = 25"].endswith(
        "| metro, flat, oracle, committed | - |"
    )


def test_a_second_corpus_does_not_hide_what_is_missing():
    """Of several corpora the one with the most runs is the protocol's."""
    corpus = {"name": "more.h5", "digest": "c2", "episodes": 18_685}
    more = runs({7: [50] * 12}, "committed", waypoint_budget=8, corpus=corpus)
    missing = results_markdown(ReportInputs([*ROWS, *more])).split(
        "## What is missing"
    )[1]
    (line,) = (one for one in missing.splitlines() if "tworoom, lewm, d = 75" in one)
    assert "oracle, committed" in line


def test_a_model_that_has_seen_the_recordings_is_told():
    seen = only(runs({7: [50, None]}, "metro", trained_on_corpus=True))
    assert "the model was trained on the recordings that queries are from" in seen.notes
    for told in (False, None):
        cell = only(runs({7: [50, None]}, "metro", trained_on_corpus=told))
        assert not any("trained" in note for note in cell.notes)


def test_a_report_is_not_written_over_a_file(tmp_path):
    (tmp_path / "rows.jsonl").write_text("kept")
    with pytest.raises(BenchmarkError, match="is a file"):
        write_report(ReportInputs(ROWS), tmp_path / "rows.jsonl")
    assert (tmp_path / "rows.jsonl").read_text() == "kept"


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
    assert [file.suffix for file in files] == [".md", ".html", ".png", ".png"]
    text = files[0].read_text()
    for name in re.findall(r"\]\((.*?)\)", text):
        assert (files[0].parent / name).read_bytes().startswith(b"\x89PNG")
    page = Page()
    page.feed(files[1].read_text())
    assert page.open == []
    loaded = [source for source in page.sources if not source.startswith("#")]
    assert len(loaded) == 3
    assert loaded[0] == "data:,"  # no icon is asked for
    assert all(source.startswith("data:image/png;base64,") for source in loaded[1:])
    assert "&lt;b&gt; &amp; |" in files[1].read_text()


def test_plots_need_an_extra(tmp_path, monkeypatch):
    """Which one; nothing is written without it, and Markdown needs none."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    told = 'A report\'s plots need matplotlib: pip install "metro-wm[plots]"'
    with pytest.raises(MissingExtra, match=f"^{re.escape(told)}$"):
        write_report(ReportInputs(ROWS), tmp_path / "report")
    assert not (tmp_path / "report").exists()
    assert results_markdown(ReportInputs(ROWS))


def test_the_papers_cells():
    """Figures, the listed cells and LeWM's own; each once; no benchmark is added."""
    cells = load_paper_cells()
    assert len(cells) == len(set(cells))
    assert {cell.benchmark for cell in cells} == set(benchmark_names())
    assert "paper" not in benchmark_names()
    by_place = {(c.benchmark, c.family, c.method, c.goal_distance, c.step_budget): c
                for c in cells}  # fmt: skip
    found = by_place["pusht", "lewm", "metro", 75, 300]
    assert (found.plan_blocks, found.waypoint_budget) == (5, 28)
    assert (found.mean, found.std, found.arrival_ratio) == (62.67, 4.62, 2.71)
    assert by_place["tworoom", "pldm", "committed", 75, 150].mean == 61.33
    assert by_place["pusht", "lewm", "flat", 75, 150].mean == 14
    assert by_place["cube", "lewm", "flat", 25, 50].mean == 74


@pytest.mark.parametrize("name", benchmark_names())
@pytest.mark.parametrize("family", ["lewm", "pldm"])
def test_every_listed_cell_is_there_once(name, family):
    """And those with a figure are the last of their front."""
    listed = load_benchmark(name).paper["cells"][family]
    found = [
        (str(c.goal_distance), (c.plan_blocks, c.waypoint_budget, c.step_budget))
        for c in load_paper_cells()
        if (c.benchmark, c.family, c.method) == (name, family, "metro")
    ]
    wanted = [(d, cell) for d, cells in listed.items() for cell in cells]
    assert sorted(found) == sorted(wanted)
    told = [c for c in load_paper_cells() if c.method == "metro" and c.arrival_ratio]
    places = {(c.benchmark, c.family, c.step_budget) for c in told}
    assert (name, family, listed["75"][-1][2]) in places


def test_a_bad_paper_file(tmp_path):
    """What a cell has."""
    (tmp_path / "p.toml").write_text("cells = [{ context = 1 }]")
    with pytest.raises(BenchmarkError, match=r"A cell has benchmark, family, method,"):
        read_paper_cells(tmp_path / "p.toml")


def test_reproduction_names_the_same_cell_or_our_best_or_a_command():
    """In this order; the command runs at 4 d, which answers for every smaller T."""
    same = runs({7: [140, 160], 8: [150, None]}, "metro", waypoint_budget=7)
    found = {
        (c.paper.method, c.paper.goal_distance, c.paper.step_budget): c
        for c in reproduce(METRO + same)
        if (c.paper.benchmark, c.paper.family) == ("tworoom", "lewm")
    }
    exact, best = found["metro", 75, 150], found["metro", 75, 90]
    assert (exact.is_same_cell, exact.ours.over_seeds[0]) == (True, 0.5)
    assert exact.to_json()["ours"]["mean"] == 50
    assert best.is_same_cell  # H = 8 at T = 90 is the paper's too
    assert not reproduce(METRO)[-1].is_same_cell
    missing = found["metro", 25, 50]
    assert missing.ours is None
    assert (
        "--graph tworoom.metro --waypoint-budget 8 --goal-distance 25"
        in missing.command
    )
    assert "--step-budget 100" in missing.command


def test_the_verbs(tmp_path):
    """metro report and metro reproduce, with and without --json."""
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in ROWS))

    def run(*words):
        done = CliRunner().invoke(app, [*map(str, words)], env={"COLUMNS": "200"})
        assert done.exit_code == 0, done.output
        return done.output

    out = tmp_path / "report"
    assert run("report", file, "-o", out).startswith(
        f"24 rows: wrote {out}/report.html, "
    )
    lines = json.loads(run("report", file, "-o", out, "--json"))
    assert lines == json.loads(json.dumps(headline_rows(ROWS)))
    assert {line["method"] for line in lines} >= {"metro (best T)", "flat (best h)"}
    shown = run("reproduce", file)
    assert "(our best: h = 1, H = 8)" in shown
    assert "metro evaluate cube" in shown
    checks = json.loads(run("reproduce", file, "--json"))
    assert len(checks) == len(load_paper_cells())


def test_rows_without_a_model_stand_beside_every_model():
    """Replays and floors do not look: they are in the section of each model."""
    other = {"name": "pldm-small-tworoom", "digest": "m2", "family": "pldm"}
    floor = runs({7: [None] * 4}, "random", model=None)
    rows = [*METRO, *runs({7: [9, 9, 9, 9]}, "metro", model=other), *floor]
    found = {(c.task.family, c.method) for c in make_cells(rows)}
    assert {("lewm", "random"), ("pldm", "random")} <= found
    alone = make_cells(floor)
    assert [cell.task.family for cell in alone] == ["none"]


def test_macro_steps_and_options_are_cells_of_their_own():
    rows = [
        *(found for h_h in (1, 2) for found in hierarchical(macro_steps=h_h)),
        *hierarchical(macro_steps=1, option="leave-one-out"),
    ]
    cells = make_cells(rows)
    assert [cell.name for cell in cells] == [
        "hi-lewm-c, h = 1, h_h = 1",
        "hi-lewm-c, h = 1, h_h = 2",
        "hi-lewm-c (leave-one-out), h = 1, h_h = 1",
    ]
    # The headline's hi-lewm-c is the authors' way: it does not choose from options.
    assert len(methods_of(cells)["hi-lewm-c"]) == 2


def test_graphs_of_another_k_or_alpha_are_cells_of_their_own():
    """The paper fixes both; what departs from it never speaks for metro."""
    options = {"num_neighbours": 4, "quantile": 0.25}
    steep, wide = options | {"quantile": 0.05}, options | {"num_neighbours": 8}
    rows = [
        *METRO,
        *(
            row(9, 7, 40, "metro", graph_options=told)
            for told in (options, steep, wide)
        ),
    ]
    cells = make_cells(rows)
    assert [cell.name for cell in cells] == [
        "metro, h = 1, H = 8",
        "metro (k = 8), h = 1, H = 8",
        "metro (α = 0.05), h = 1, H = 8",
    ]
    assert len(cells[0].outcomes) == len(METRO) + 1
    assert len(methods_of(cells)["metro"]) == 1
    command = command_of_cell(cells[2])
    assert "--method metro --graph GRAPH.metro --waypoint-budget 8" in command
    assert "--option" not in command


def hierarchical(**more):
    found = runs({7: [30, None]}, "hi-lewm-c")
    return [told | {"setting": told["setting"] | more} for told in found]


def study(**changed):
    """Return a study whose section is its number of rows and a picture."""
    blocks = (Heading("Study", 2), Picture("a.png", "a plot"))

    def render(rows):
        told = Section((Text(f"{len(rows)} rows."), *blocks), {"a.png": PNG})
        return told

    fields = {"name": "one", "title": "Study", "question": "Why?", "command": "metro x"}
    return Study(**(fields | changed), render=render)


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010806000000"
    "1f15c4890000000d49444154789c626001000000050001a5f645400000000049454e44ae426082"
)


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


def test_a_folder_is_gathered(folder, tmp_path, monkeypatch):
    """Rows, studies, pictures and preface; the page has them all, in one file."""
    monkeypatch.setattr(registry, "STUDIES", (study(), study(name="two", title="No")))
    found = gather([folder])
    assert (len(found.rows), found.study_rows) == (24, {"one": [{"a": 1}, {"a": 2}]})
    files = write_report(found, tmp_path / "out")
    names = {file.name for file in files}
    assert {"film.gif", "study-one-a.png", "report.html"} <= names
    page = files[1].read_text()
    assert "<li><strong>a</strong> <code>b</code></li>" in page
    assert "2 rows." in page
    assert "Not run. This runs it:" in page
    assert "data:image/gif;base64," in page
    text = files[0].read_text()
    assert text.count("\n# ") + text.startswith("# ") == 1
    assert text.index("## Found") < text.index("## Overview") < text.index("## tworoom")
    assert text.index("## Studies") < text.index("![A film.](film.gif)")
    assert "## What differs from the paper" in text


def test_studies_of_the_evaluation_and_of_nobody(folder, monkeypatch):
    """Some read the evaluation's rows; rows that no study reads are told."""
    monkeypatch.setattr(
        registry, "STUDIES", (study(name="two", reads_evaluation=True),)
    )
    page = results_markdown(gather([folder]))
    assert "24 rows." in page
    assert "There are rows of one, but no study of this name: left out." in page
    assert "#### Study" not in page  # its heading is the study's own
    assert "a plot" not in page
    assert "![A film.](there/film.gif)" in results_markdown(gather([folder]), "there/")
    monkeypatch.setattr(registry, "STUDIES", ())
    assert "No study is known to this version." in results_markdown(ReportInputs(ROWS))


def test_a_folder_that_does_not_fit(folder):
    """No rows, a picture without a caption, one that is not there, no captions."""
    captions = folder / "pictures" / "captions.json"

    def told(wanted):
        with pytest.raises(BenchmarkError, match=f"^{re.escape(wanted)}$"):
            gather([folder])

    kept = captions.read_text()
    captions.write_text("{}")
    told(f"{folder}/pictures/film.gif has no caption. Mend {captions}.")
    captions.write_text(kept.replace("film", "other"))
    told(f"{folder}/pictures/film.gif has no caption. Mend {captions}.")
    captions.write_text("[]")
    shape = '{"file": {"caption": ..., "command": ...}}'
    told(f"{captions} must be {shape}. Mend it.")
    captions.write_text(kept)
    (folder / "pictures" / "film.gif").unlink()
    told(
        f"{folder}/pictures/film.gif has a caption, but is not there. Mend {captions}."
    )
    (folder / "rows.jsonl").unlink()
    told(
        f"{folder} has no rows (*.jsonl). metro evaluate -o {folder}/rows.jsonl "
        f"writes them."
    )


def test_the_numbers_on_top():
    """Metro at the largest d, beside flat on the same runs, counted by hand."""
    tasks = by_task(make_cells(ROWS))
    far, spent, counted = key_figures(tasks, len(ROWS)).figures
    assert far.value == "88 %"
    assert far.label == "tworoom: metro, goals 75 frames away"
    assert (
        "T = 300, n = 8; lewm-small-tworoom, tworoom, 2,000 episodes. +50 points"
        in far.note
    )
    assert "on the 8 runs that both have" in far.note
    assert spent.value == "20.0 %"  # 2 of the 10 seconds of planning
    assert counted.value == "24"
    alone = key_figures(by_task(make_cells(METRO)), 8).figures[0]
    assert "Plain CEM was not run on these queries within this T." in alone.note
    assert len(key_figures(by_task(make_cells(FLAT)), 8).figures) == 1


def test_the_number_on_top_is_of_a_time_that_most_of_flat_had():
    """One h that was run for longer is not the best of three."""
    seeds = {7: [50, 60, None, None], 8: [50, None, None, None]}
    brief = [runs(seeds, "flat", plan_blocks=h, step_budget=150) for h in (2, 5)]
    longer = runs(seeds, "flat", plan_blocks=1, step_budget=300)
    rows = [*METRO, *longer, *brief[0], *brief[1]]
    figure = key_figures(by_task(make_cells(rows)), len(rows)).figures[0]
    assert "T = 150" in figure.note


def test_ablations_are_of_pairs():
    """Metro minus what follows its first route blindly, on the runs that both have."""
    blind = runs({7: [50, None, None, None]}, "committed", waypoint_budget=8)
    told, table = ablations(by_task(make_cells(METRO + blind)))
    assert "no re-entry: the first route is followed to its end" in told.text
    last = table.rows[-1]
    assert last[4:7] == ("300", "committed", "87.5 [53, 98], n = 8")
    assert last[8].startswith("+50.0 [")  # 3 of 4 against 1 of 4
    assert last[9] == "4"
    nothing = ablations(by_task(make_cells(METRO)))[1]
    assert nothing.text == "Not run: committed, oracle, waypoints, beside metro."


def test_words_by_hand():
    """What our Markdown means, in HTML; links to files are words only."""
    text = (
        "A *b* [c](d.md) [e](https://f.g) <h>\n\n- **i**\n  j\n- k\n\n"
        "| l | m |\n|---|---|\n| `n` | o |\n\n```\n## p\n\nq < r\n```\n"
    )
    page = prose_to_html(text)
    assert '<p>A <em>b</em> c <a href="https://f.g">e</a> &lt;h&gt;</p>' in page
    assert "<ul><li><strong>i</strong> j</li><li>k</li></ul>" in page
    assert "<tr><td><code>n</code></td><td>o</td></tr>" in page
    assert "<pre><code>## p\n\nq &lt; r</code></pre>" in page
    found = sections("# T\n\nx\n\n## One\n\n```\n## no\n```\n\n---\n")
    assert found == [("", "x"), ("One", "```\n## no\n```")]


def test_numbers_stay_together_in_a_table():
    """Lines break between figures, not inside one."""
    wide = Table(("a",), (("98.0 [90, 100], n = 50",),), "b")
    page = to_html([Heading("c", 1), wide], {})
    assert "<td>98.0 [90,\u00a0100], n\u00a0=\u00a050</td>" in page


def test_every_cell_has_its_command():
    """The one that was typed, but for the names of files that rows do not have."""
    page = results_markdown(ReportInputs(ROWS))
    assert (
        "metro evaluate tworoom --corpus tworoom.h5 --model lewm-small-tworoom "
        "--method metro --graph GRAPH.metro --waypoint-budget 8 --goal-distance 75 "
        "--plan-blocks 1 --step-budget 300 --planner-seed 7 --planner-seed 8 "
        "-o rows.jsonl\n"
    ) in page
    hard = row(queries={"name": "hard.csv", "digest": "q"}, method="random", model=None)
    told = command_of_cell(only([hard]))
    assert "--model ANY-MODEL --method random --goal-distance 75 --queries hard" in told
    high = only([row(method="hi-lewm-c", macro_steps=2)])
    assert "--macro MACRO.safetensors" in command_of_cell(high)


def test_a_short_pilot_does_not_shorten_a_cell():
    whole = runs({7: [30, 200, None], 8: [40, 210, None]})
    (cell,) = make_cells([*whole, row(5, 9, None, step_budget=20)])
    assert (cell.step_budget, len(cell.outcomes)) == (300, 6)
    assert cell.notes[0] == ("runs left out, for most were given T = 300, they less: 1")


def test_two_macro_models_are_two_cells():
    rows = [
        told | {"macro": {"name": "macro", "digest": digest}}
        for digest in ("d1", "d2")
        for told in hierarchical(macro_steps=1)
    ]
    assert len(make_cells(rows)) == 2


def test_frames_that_are_no_number_are_refused():
    with pytest.raises(BenchmarkError, match=r"This is not a row of metro evaluate"):
        make_cells([row(0, 7, "x")])


def test_commands_name_options_and_macro_steps():
    rows = hierarchical(macro_steps=2, option="leave-one-out")
    (cell,) = make_cells(rows)
    command = command_of_cell(cell)
    assert "--method hi-lewm-c --option leave-one-out --macro MACRO" in command
    assert "--macro-steps 2" in command


def test_methods_without_plans_have_no_overhead():
    (cell,) = make_cells(runs({7: [30]}, "random"))
    assert cell.macro_overhead is None
