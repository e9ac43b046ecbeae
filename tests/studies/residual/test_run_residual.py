"""Many latents measured in the real TwoRoom with the shipped model."""

import json
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from metro.cli import app
from metro.envs.state_spaces import OpenAdapter
from metro.errors import BenchmarkError, LatentsError
from metro.evaluation.records import read_records
from metro.storage.artefacts import load
from metro.studies.residual.run_residual import measure_residuals
from metro.studies.residual.state_search import BUDGETS, Budget
from metro.studies.residual.targets import Targets, random_targets, recorded_targets


def measured(searched, targets, output, **changes):
    """Measure latents into a file, with some options changed."""
    return measure_residuals(replace(searched, output=output, **changes), targets)


def residuals(rows):
    return [(row["residual"], row["state"]) for row in rows]


def test_recorded_frames_have_a_residual_of_zero(searched, tmp_path, monkeypatch):
    """This validates the search: the states exist, and it does not know them."""
    monkeypatch.setitem(BUDGETS, "small", Budget(1, 14, 128))
    targets = recorded_targets(load(searched.latents), count=2, seed=0)
    rows = measured(searched, targets, tmp_path / "rows.jsonl")
    for row in rows:
        assert row["residual"] < 0.01 * row["gaps"]["consecutive"]
        assert row["nearest"]["gap"] > row["residual"]
        assert row["own_frame"] == row["latent"]["frame"]


def test_workers_change_nothing_and_rows_are_resumed(searched, quick, tmp_path):
    """Two processes find what one finds; a second call measures nothing."""
    targets = random_targets(load(searched.latents), count=2, seed=0)
    budgets = ("small", "large")
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    rows = measured(searched, targets, one, budgets=budgets)
    apart = measured(searched, targets, two, budgets=budgets, workers=2)
    assert residuals(rows) == residuals(apart)
    for small, large in zip(rows[::2], rows[1::2], strict=True):
        assert (small["budget"], large["budget"]) == budgets
        assert 0 < large["residual"] <= small["residual"]
    one.write_text("".join(one.read_text().splitlines(keepends=True)[:2]) + '{"half')
    again = measured(searched, targets, one, budgets=budgets)
    assert residuals(again) == residuals(rows)
    assert len(read_records(one)) == 4


def test_a_camera_that_fails_marks_its_row(searched, quick, tmp_path, monkeypatch):
    """The run continues with the next latent, in a new environment."""
    draw, drawn = OpenAdapter.pictures, []

    def fail_once(self, states):
        drawn.append(len(states))
        if len(drawn) == 3:
            raise RuntimeError("the context was lost")
        return draw(self, states)

    monkeypatch.setattr(OpenAdapter, "pictures", fail_once)
    targets = recorded_targets(load(searched.latents), count=2, seed=0)
    first, second = measured(searched, targets, tmp_path / "rows.jsonl")
    assert first["residual"] is None
    assert first["error"] == "RuntimeError: the context was lost"
    assert second["error"] is None
    assert second["residual"] is not None


def test_the_verb_measures_and_draws(searched, quick, tmp_path):
    """Rows, a table, and a PNG with one column per latent."""
    picture, rows = tmp_path / "pictures" / "a.png", tmp_path / "rows.jsonl"
    command = ["residual", "tworoom", "--corpus", searched.source.corpus, "--model"]
    command += [
        searched.source.model,
        "--latents",
        str(searched.latents),
        "--method",
        "random",
    ]
    command += ["--count", "2", "-o", str(rows), "--pictures", str(picture), "--json"]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    (cell,) = json.loads(shown.stdout)
    assert (cell["method"], cell["num_latents"]) == ("random", 2)
    assert len(read_records(rows)) == 2
    with Image.open(picture) as drawn:
        assert drawn.size == (2 * (112 + 4), 2 * (112 + 26))


def test_targets_of_another_model_are_refused(searched, tmp_path):
    """Their latents have another dimension; and a pool needs a worker."""
    wrong = Targets("random", np.zeros((1, 3), np.float32), [{}], {})
    with pytest.raises(LatentsError, match="latents have 64 finite numbers, those of"):
        measured(searched, wrong, tmp_path / "rows.jsonl")
    with pytest.raises(BenchmarkError, match="^workers must be at least 1, got 0"):
        measured(searched, wrong, tmp_path / "rows.jsonl", workers=0)
