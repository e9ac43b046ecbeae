"""The paper's other analyses: laws of their samples, and tables of made-up rows."""

import json
import re
import statistics
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import Corpus, gaps_across, gaps_inside
from row_makers import runs
from typer.testing import CliRunner

from metro import Latents, save
from metro.cli import app
from metro.errors import BenchmarkError, LatentsError, MetroError
from metro.evaluation.records import read_records
from metro.report.document import Table, Text
from metro.studies import saturation as saturating
from metro.studies.corpus_size import section as corpus_size
from metro.studies.corpus_size.section import choose_episodes
from metro.studies.micro_planner import section as micro_planner
from metro.studies.offline_cost import section as offline_cost
from metro.studies.paired import render_oracle, render_re_entry
from metro.studies.registry import STUDIES, find_study

MADE = {
    "benchmark": "tworoom",
    "model": {"name": "lewm-small-tworoom", "digest": "m1"},
    "corpus": {"name": "tworoom.h5", "digest": "c1"},
}
METRO = runs({7: [50, 80, 140, 290], 8: [60, 90, 145, None]}, "metro")
COMMITTED = runs({7: [50, None, None, 290]}, "committed", waypoint_budget=8, graph="g1")
ORACLE = runs({7: [100, 140, None, None]}, "oracle", step_budget=150)


@pytest.fixture
def made(rooms):
    """Latents that say where they come from."""
    return Latents(rooms.z, rooms.episode_offsets, MADE)


def table_of(section, number=0):
    """Return one table of a section as dictionaries."""
    table = [block for block in section.blocks if isinstance(block, Table)][number]
    return [dict(zip(table.header, line, strict=True)) for line in table.rows]


def notes_of(section):
    return [block.text for block in section.blocks if isinstance(block, Text)]


def refused(told, call, *arguments):
    with pytest.raises(MetroError, match=f"^{re.escape(told)}"):
        call(*arguments)


@given(
    st.integers(200, 3_000), st.integers(0, 9), st.lists(st.floats(1, 100), min_size=2)
)
def test_a_smaller_share_is_contained_in_a_larger_one(number, seed, shares):
    """Nested, each episode once, of the size asked for, the same every time."""
    parts = [choose_episodes(number, share, seed) for share in sorted(shares)]
    for small, large in pairwise(parts):
        assert set(small) <= set(large)
    for share, part in zip(sorted(shares), parts, strict=True):
        assert len(set(part)) == len(part) == round(number * share / 100)
        np.testing.assert_array_equal(part, choose_episodes(number, share, seed))
    assert list(choose_episodes(number, 100, seed)) == list(range(number))


def test_seeds_choose_other_episodes():
    """A share is a random one, not the first episodes."""
    one, other = (choose_episodes(1_000, 10, seed) for seed in (0, 1))
    assert list(one) != list(other)
    assert list(one) != list(range(100))


@pytest.mark.parametrize("share", [0, -1, 100.5, float("nan")])
def test_shares_are_percent(share):
    """More than nothing, at most everything."""
    told = f"A share must be in (0, 100] percent, got {share:g}."
    refused(told, choose_episodes, 100, share, 0)


def test_one_episode_is_too_few():
    """The query's own may be the only one, and nothing would be left."""
    told = (
        "1 % of 100 episodes is 1; a graph needs at least 2, for the query's own is "
        "held out. Use a larger share or corpus."
    )
    refused(told, choose_episodes, 100, 1, 0)


def test_saturation_is_that_of_all_pairs(made):
    """Median and quartiles of sampled gaps: those of every pair, looked at in turn."""
    told = saturating.describe_latents(made, num_samples=20_000)
    points = {p["distance"]: p for p in saturating.measure_row(made, told)["curve"]}
    assert list(points) == list(range(1, 60))  # episodes have 60 frames
    twin = Corpus([made.z[made.rows_of(m)] for m in range(made.num_episodes)])
    across = statistics.median(gaps_across(twin, every=7))
    for distance in (1, 5, 20, 59):
        inside = statistics.quantiles(gaps_inside(twin, distance), n=4)
        got = [points[distance][part] for part in ("lower", "median", "upper")]
        np.testing.assert_allclose(got, np.array(inside) / across, rtol=0.06)


def test_saturation_rows_say_where_they_come_from(made, rooms, tmp_path):
    """Digests, settings and versions; latents of unknown origin are refused."""
    save(made, tmp_path / "rooms.latents")
    save(rooms, tmp_path / "unknown.latents")
    output = tmp_path / "studies" / "saturation.jsonl"
    command = ["saturation", str(tmp_path / "rooms.latents"), "-o", str(output)]
    command += ["--num-samples", "50"]
    first = CliRunner().invoke(app, command)
    assert first.exit_code == 0, first.output
    again = CliRunner().invoke(app, command)
    assert again.output == first.output
    (row,) = read_records(output)
    assert (row["benchmark"], row["latents"]) == ("tworoom", made.digest)
    assert (row["model"], row["corpus"]) == (MADE["model"], MADE["corpus"])
    assert row["setting"] == {"longest": 75, "num_samples": 50, "seed": 0}
    assert {"metro-wm", "commit"} <= row["versions"].keys()
    command[1] = str(tmp_path / "unknown.latents")
    failed = CliRunner().invoke(app, command)
    assert isinstance(failed.exception, LatentsError)
    assert len(read_records(output)) == 1


def test_saturation_section(made):
    """One line a row and the paper's points; the same rows, the same bytes."""
    rows = [
        saturating.measure_row(made, saturating.describe_latents(made, num_samples=n))
        for n in (40, 50)
    ]
    rows[1]["model"] = {"name": "pldm-small-tworoom", "digest": "m2"}
    section, again = saturating.render(rows), saturating.render(rows[::-1])
    assert section == again
    assert section.pictures["saturation.png"].startswith(b"\x89PNG")
    lines = table_of(section)
    assert [line["model"].split("-")[0] for line in lines] == ["lewm", "pldm", "paper"]
    assert (lines[2]["d = 5"], lines[2]["d = 75"]) == ("0.29", "1.00")
    assert lines[0]["d = 75"] == "-"
    rows[1]["model"] = rows[0]["model"]
    refused("The study saturation has tworoom, lewm-sm", saturating.render, rows)


def test_re_entry_is_told_on_common_runs():
    """Only queries and seeds of both, at the longest T and at the paper's."""
    section = render_re_entry(METRO + COMMITTED)
    short, long, *missing = table_of(section)
    assert (short["T"], long["T"]) == ("150", "300")
    assert (long["metro"], long["committed"]) == ("100.00", "50.00")
    assert (long["points"], long["pairs"]) == ("+50.0", "4")
    assert (short["metro"], short["committed"]) == ("75.00", "25.00")
    assert (short["paper, metro"], short["paper, committed"]) == (
        "100.00 ± 0.00",
        "76.67 ± 4.16",
    )
    assert len(missing) == 7
    assert {line["committed"] for line in missing} == {"not run"}


def test_re_entry_compares_the_same_graph():
    """Another H is another question."""
    other = runs({7: [1, 1, 1, 1]}, "metro", waypoint_budget=9)
    assert render_re_entry(METRO + COMMITTED + other) == render_re_entry(
        METRO + COMMITTED
    )
    assert len(table_of(render_re_entry(other + COMMITTED))) == 8


def test_the_oracle_meets_the_best_metro():
    """Of several H the best; arrival is over each one's own successes."""
    rows = [
        row | {"demonstration_frames": 100}
        for row in METRO + ORACLE + runs({7: [None] * 4}, "metro", waypoint_budget=9)
    ]
    line = table_of(render_oracle(rows))[0]
    assert (line["H"], line["T"], line["pairs"]) == ("8", "150", "4")
    assert (line["metro"], line["oracle"]) == ("75.00", "50.00")
    assert (line["arrival, metro"], line["arrival, oracle"]) == ("0.80", "1.20")
    assert line["paper's arrivals"] == "0.93 and 1.65"


def test_rows_of_mixed_versions_are_told():
    """And two runs that disagree are refused, as in the evaluation's report."""
    other = [row | {"versions": {"commit": "fedcba9876543"}} for row in COMMITTED[:1]]
    section = render_re_entry(METRO + other + COMMITTED[1:])
    assert any("rows of different versions" in note for note in notes_of(section))
    twice = [*COMMITTED, COMMITTED[0] | {"frames_to_success": None}]
    with pytest.raises(BenchmarkError, match="seed 7 is there twice"):
        render_re_entry(METRO + twice)


def part_rows(share, episodes, frames, **changed):
    told = {"share": share, "subset_seed": 0, "episodes_used": episodes}
    told["graph"] = f"g{share}"
    return [row | told | changed for row in runs({7: frames}, "metro")]


def test_corpus_size_section():
    """Large shares first, the paper's figure beside each."""
    rows = part_rows(1.0, 20, [90, None]) + part_rows(100.0, 2000, [50, 60])
    section = corpus_size.render(rows)
    assert section == corpus_size.render(rows[::-1])
    lines = table_of(section)
    assert [line["share"] for line in lines] == ["100 %", "1 %"]
    assert [line["success"] for line in lines] == ["100.00", "50.00"]
    assert [line["episodes"] for line in lines] == ["2,000", "20"]
    assert {line["paper"] for line in lines} == {"100.00 ± 0.00"}
    assert section.pictures["corpus-size.png"].startswith(b"\x89PNG")
    refused("This is not a row of the study corpus-size (KeyError: 'share')",
            corpus_size.render, METRO)  # fmt: skip


def test_corpus_size_is_the_papers_only_at_its_distance():
    """d = 15 has no figure in the paper."""
    near = {"episode": 0, "start": 0, "goal": 15}
    lines = table_of(corpus_size.render(part_rows(1.0, 20, [9], query=near)))
    assert lines[0]["paper"] == "-"


def model_rows(role, frames, method="metro", **changed):
    model = {"name": f"lewm-{role}", "digest": role, "family": "lewm"}
    told = {"role": role, "base": "base", "model": model}
    return [row | told | changed for row in runs({7: frames}, method)]


def test_micro_planner_section():
    """Fine-tuned minus base, paired; the paper's table is always beside it."""
    rows = model_rows("base", [50, None, None]) + model_rows("fine-tuned", [9, 9, None])
    rows += model_rows("fine-tuned", [9, 9, 9], "flat")  # the base never ran it
    section = micro_planner.render(rows)
    (line,) = table_of(section)
    assert (line["base"], line["fine-tuned"]) == ("33.33", "66.67")
    assert (line["points"], line["method"], line["pairs"]) == ("+33.3", "metro", "3")
    paper = {line["method"]: line["points"] for line in table_of(section, 1)[1:]}
    assert paper == {"flat": "+1.33", "metro": "+9.33", "oracle": "+17.33"}
    alone = micro_planner.render(model_rows("base", [50]))
    assert notes_of(alone)[1].startswith("Not run: both models")
    wrong = model_rows("tuned", [50])
    refused("This is not a row of the study micro-planner", micro_planner.render, wrong)


def cost_row(**changed):
    return {
        "study": "offline-cost",
        **MADE,
        "frames": 183_387,
        "macro": {
            **{"name": "macro", "digest": "d", "steps": 1836},
            **{"minutes": 9.0, "cpu_minutes": 8.0},
        },
        "setting": {"waypoint_budget": 8, "threads": 1, "sampled_episodes": 20},
        "seconds": {"encode": 60.0, "table": 30.0, "graph": 6.0, "cpu": 48.0},
        "load": [1.0, 2.5],
        "cores": 2,
        "versions": {"commit": "abcdef0123456"},
    } | changed


def test_offline_cost_section():
    """Training over metro, processor time; the paper's ratios run from 13 to 56."""
    section = offline_cost.render([cost_row(), cost_row()])
    (line,) = table_of(section)
    assert (line["total"], line["ratio"], line["load"]) == ("1.60", "10.0", "1.0, 2.5")
    assert (line["CPU"], line["training CPU"]) == ("0.80", "8.0")
    loaded = cost_row(macro=cost_row()["macro"] | {"cpu_minutes": None})
    assert table_of(offline_cost.render([loaded]))[0]["ratio"] == "-"
    ratios = [float(line["ratio"]) for line in table_of(section, 1)]
    assert (min(ratios), max(ratios)) == (13.3, 56.1)
    (alone,) = table_of(offline_cost.render([cost_row(macro=None)]))
    assert (alone["macro model"], alone["ratio"]) == ("not trained", "-")
    twice = [cost_row(), cost_row(load=[0.0, 0.0])]
    refused("The study offline-cost has tworoom, lewm-s", offline_cost.render, twice)


def test_studies_are_listed(tmp_path):
    """By name, question and rows; a folder without rows is no error."""
    shown = CliRunner().invoke(app, ["study", "--results", str(tmp_path), "--json"])
    told = json.loads(shown.output)
    assert [line["name"] for line in told] == [study.name for study in STUDIES]
    assert {line["rows"] for line in told} == {0}
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "offline-cost.jsonl").write_text(json.dumps(cost_row()))
    shown = CliRunner().invoke(app, ["study", "--results", str(tmp_path)])
    assert "offline-cost" in shown.output


def test_a_study_that_nobody_knows():
    """All names are told; one with a verb of its own tells that verb."""
    with pytest.raises(
        BenchmarkError, match=r"There is no study 'x'\. There are .*re-e"
    ):
        find_study("x")
    failed = CliRunner().invoke(app, ["study", "x"])
    assert isinstance(failed.exception, BenchmarkError)
    failed = CliRunner().invoke(app, ["study", "saturation"])
    assert str(failed.exception).startswith("saturation is run by itself: metro satu")


def test_tables_from_the_command_line(tmp_path):
    """`metro study re-entry ROWS` prints what the report shows."""
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in METRO + COMMITTED))
    shown = CliRunner().invoke(app, ["study", "re-entry", str(file)])
    assert "| tworoom | lewm-small-tworoom | 75 | 1 | 8 | 300 |" in shown.output
    told = CliRunner().invoke(app, ["study", "oracle", str(file), "--json"])
    assert {line["oracle"] for line in json.loads(told.output)} == {"not run"}


def test_a_folder_of_results_that_is_not_there():
    failed = CliRunner().invoke(app, ["study", "--results", "nosuch"])
    assert str(failed.exception).startswith("There is no folder nosuch.")
