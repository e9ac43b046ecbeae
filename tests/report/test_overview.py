"""The tables over all tasks."""

import re

from row_makers import METRO, ROWS, runs

from metro.analysis.comparison import by_task
from metro.analysis.grouping import group_rows
from metro.report.build import results_markdown
from metro.report.inputs import ReportInputs
from metro.report.overview import ablations, overview


def test_the_overview_names_the_best_h_and_the_number_of_pairs():
    """Eight pairs have no interval, twelve have one."""
    (told,) = overview(by_task(group_rows(ROWS))).rows
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
    (told,) = overview(by_task(group_rows(more))).rows
    assert re.fullmatch(r"\+41\.7 \[[+-]\d+, \+\d+\], 12 pairs", told[8])


def test_what_is_missing_is_listed():
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


def test_ablations_are_of_pairs():
    """Metro minus what follows its first route blindly, on the runs that both have."""
    blind = runs({7: [50, None, None, None]}, "committed", waypoint_budget=8)
    parts, table = ablations(by_task(group_rows(METRO + blind)))
    assert "no re-entry: the first route is followed to its end" in parts.text
    last = table.rows[-1]
    assert last[4:7] == ("300", "committed", "87.5 [53, 98], n = 8")
    assert last[8] == "+50.0 (4 pairs)"  # 3 of 4 against 1 of 4
    (nothing,) = ablations(by_task(group_rows(METRO)))
    assert nothing.text.startswith("Not run beside metro. committed: no re-entry")
