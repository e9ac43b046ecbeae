"""Rows of one setting are grouped; mistakes are refused, the rest is noted."""

import re

import pytest
from row_makers import METRO, ROWS, hierarchical, only, row, runs

from metro.analysis.comparison import methods_of
from metro.analysis.grouping import group_rows
from metro.analysis.reproduce import command_of_config
from metro.errors import BenchmarkError


def refused(rows, told):
    with pytest.raises(BenchmarkError, match=f"^{re.escape(told)}$"):
        group_rows(rows)


def test_rows_of_one_setting_are_one_config_result():
    """Seeds and queries together; another h, H, model or query file apart."""
    assert len(group_rows(ROWS)) == 3
    other = [{**ROWS[0], "model": {"name": "lewm-small-tworoom", "digest": "m2"}}]
    other += [{**ROWS[0], "queries": {"name": "hard.csv", "digest": "q2"}}]
    assert len(group_rows(ROWS + other)) == 5
    assert only([row(extra="columns are fine")]).setting == (1, None)


def test_the_longest_of_two_runs_speaks():
    """The same question at two budgets: a run answers for every smaller one."""
    cell = only([row(step_budget=100), row(frames=150)])
    assert (cell.frames, len(cell.notes)) == ([150], 1)
    cell = only([row(step_budget=100, frames=60), row(frames=150)])
    assert cell.notes[1] == "of them ended otherwise than the longest run: 1"


def test_the_same_row_twice_is_one():
    """Told in a note; two that disagree are refused."""
    cell = only([row(frames=9), row(frames=9)])
    assert len(cell.runs) == 1
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


def test_a_model_that_has_seen_the_recordings_is_noted():
    seen = only(runs({7: [50, None]}, "metro", trained_on_corpus=True))
    assert "the model was trained on the recordings that queries are from" in seen.notes
    for told in (False, None):
        cell = only(runs({7: [50, None]}, "metro", trained_on_corpus=told))
        assert not any("trained" in note for note in cell.notes)


def test_macro_steps_and_options_are_grouped_apart():
    rows = [
        *(found for h_h in (1, 2) for found in hierarchical(macro_steps=h_h)),
        *hierarchical(macro_steps=1, option="leave-one-out"),
    ]
    cells = group_rows(rows)
    assert [cell.name for cell in cells] == [
        "hi-lewm-c, h = 1, h_h = 1",
        "hi-lewm-c, h = 1, h_h = 2",
        "hi-lewm-c (leave-one-out), h = 1, h_h = 1",
    ]
    # The headline's hi-lewm-c is the authors' way: it does not choose from options.
    assert len(methods_of(cells)["hi-lewm-c"]) == 2


def test_graphs_of_another_k_or_alpha_are_grouped_apart():
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
    cells = group_rows(rows)
    assert [cell.name for cell in cells] == [
        "metro, h = 1, H = 8",
        "metro (k = 8), h = 1, H = 8",
        "metro (α = 0.05), h = 1, H = 8",
    ]
    assert len(cells[0].runs) == len(METRO) + 1
    assert len(methods_of(cells)["metro"]) == 1
    command = command_of_config(cells[2])
    assert "--method metro --graph GRAPH.metro --waypoint-budget 8" in command
    assert "--option" not in command


def test_a_short_pilot_does_not_shorten_the_others():
    whole = runs({7: [30, 200, None], 8: [40, 210, None]})
    (cell,) = group_rows([*whole, row(5, 9, None, step_budget=20)])
    assert (cell.step_budget, len(cell.runs)) == (300, 6)
    assert cell.notes[0] == ("runs left out, for most were given T = 300, they less: 1")


def test_two_macro_models_are_grouped_apart():
    rows = [
        told | {"macro": {"name": "macro", "digest": digest}}
        for digest in ("d1", "d2")
        for told in hierarchical(macro_steps=1)
    ]
    assert len(group_rows(rows)) == 2
