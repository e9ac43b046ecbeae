"""The section on residuals, of made-up rows."""

import pytest

from metro.errors import BenchmarkError
from metro.report.document import Table, Text
from metro.studies.all_studies import STUDIES
from metro.studies.residual.show_residual import (
    RESIDUAL,
    render_residual,
    summarise_residuals,
)


def make_row(number, residual, **changes):
    return {
        "benchmark": "pusht",
        "model": {"name": "lewm-small-state-pusht", "digest": "m"},
        "corpus": {"name": "pusht.h5", "digest": "c"},
        "method": "hi-lewm-c",
        "setting": {"macro_steps": 1, "step_budget": 30},
        "budget": "small",
        "seed": 0,
        "latent": {"digest": f"{number}"},
        "residual": residual,
        "nearest": {"frame": 1, "gap": 3.0},
        "gaps": {"consecutive": 0.5, "across": 8.0},
        "versions": {"commit": "abcdef0123456"},
    } | changes


ROWS = [
    *(make_row(n, r) for n, r in enumerate([1.0, 2.0, 3.0, 4.0, 5.0])),
    *(make_row(n, r - 0.1, budget="large") for n, r in enumerate([1.0, 2.0])),
    make_row(0, 0.001, method="recorded", setting=None),
    make_row(9, None, method="recorded", setting=None, error="RuntimeError: no GL"),
]


def test_cells_tell_median_quartiles_and_what_failed():
    """Medians are of what was measured; failures are counted, not hidden."""
    recorded, small, large = summarise_residuals(ROWS)
    assert (small.median, small.lower, small.upper) == (3.0, 2.0, 4.0)
    assert small.relative == 6.0
    assert (large.num_latents, large.median) == (2, pytest.approx(1.4))
    assert (recorded.num_latents, recorded.num_errors) == (1, 1)


def test_runs_with_other_settings_are_other_cells():
    """Two macro steps are not pooled with one, nor metro's H with another."""
    two = {"macro_steps": 2, "step_budget": 30}
    ways = [{"plan_blocks": 1, "waypoint_budget": budget} for budget in (8, 18)]
    more = [make_row(n, 9.0, setting=two) for n in range(2)]
    more += [make_row(0, 0.1, method="metro", setting=way) for way in ways]
    cells = summarise_residuals(ROWS + more)
    told = [(cell.method, cell.planner, cell.num_latents) for cell in cells]
    assert told == [
        ("recorded", "", 1),
        ("metro", "h = 1, H = 18", 1),
        ("metro", "h = 1, H = 8", 1),
        ("hi-lewm-c", "h_h = 1", 5),
        ("hi-lewm-c", "h_h = 1", 2),
        ("hi-lewm-c", "h_h = 2", 2),
    ]


def test_the_study_compares_budgets_on_the_same_latents():
    """Two latents have both rows: their medians are 1.5 and 1.4, not 3 and 1.4."""
    section = render_residual(ROWS)
    (table,) = [block for block in section.blocks if isinstance(block, Table)]
    assert [line[-1] for line in table.rows] == ["", "2.31", "2.29"]
    (text,) = [block.text for block in section.blocks if isinstance(block, Text)]
    assert "of 2 latents goes from 1.500 to 1.400, above zero" in text
    assert render_residual(ROWS[::-1]) == section
    assert render_residual(ROWS + ROWS) == section
    assert list(section.pictures) == ["residual-pusht-plot.png"]


def test_rows_that_cannot_be_right_are_refused():
    """Something else, and two answers to one question; the same one twice is one."""
    with pytest.raises(
        BenchmarkError, match="^This is not a row of the study residual"
    ):
        summarise_residuals([*ROWS, {"method": "metro"}])
    told = r"two residuals of the latent 0 \(pusht, hi-lewm-c.* 1.0 and 7.0. Remove one"
    with pytest.raises(BenchmarkError, match=told):
        summarise_residuals([*ROWS, make_row(0, 7.0)])


def test_models_of_the_same_name_are_told_apart():
    other = {"name": "lewm-small-state-pusht", "digest": "n"}
    cells = summarise_residuals([make_row(0, 1.0), make_row(0, 2.0, model=other)])
    assert [cell.median for cell in cells] == [1.0, 2.0]


def test_the_study_is_registered():
    assert RESIDUAL in STUDIES
