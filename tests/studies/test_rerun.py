"""The paper's cells with a model and a recording of one's own, by one command."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from metro.benchmark import load_benchmark
from metro.cli import app
from metro.data.collect.record import record
from metro.data.corpus import open_corpus
from metro.errors import BenchmarkError, ModelError
from metro.evaluation.context import EvalConfig
from metro.evaluation.records import read_records
from metro.models.devices import choose_device
from metro.models.loading import load_model
from metro.models.weights import save_model


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Forty episodes, and a model that does not know its actions, as released ones."""
    folder = tmp_path_factory.mktemp("rerun")
    model = load_model("lewm-small-tworoom")
    model.action_stats = None
    save_model(model, folder / "model.safetensors")
    record(
        load_benchmark("tworoom"),
        folder / "mine.h5",
        episodes=40,
        seed=11,
        image_size=model.image_size,
    )
    return folder


def run(folder, *extra):
    """Return what the verb prints, as JSON."""
    given = ["--corpus", folder / "mine.h5", "--model", folder / "model.safetensors"]
    given += ["-o", folder / "out", "--first", 2, "--planner-seed", 7, "--json"]
    arguments = ["rerun", "tworoom", *map(str, given), *extra]
    ran = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    return json.loads(ran.stdout)


def test_every_cell_of_the_paper_is_run(folder):
    """Both figures of every cell, from one run each; the second time nothing is run."""
    told = run(folder, "--goal-distance", "25")
    assert {cell["paper"]["method"] for cell in told} == {"metro", "flat"}
    assert all(cell["ours"]["runs"] == 2 for cell in told)
    assert all(cell["ours"]["is_same_cell"] for cell in told)
    rows = read_records(folder / "out" / "rows.jsonl")
    papers = [cell["paper"] for cell in told]
    cells = {(paper["plan_blocks"], paper["waypoint_budget"]) for paper in papers}
    assert len(rows) == 2 * len(cells)
    assert {row["device"] for row in rows} == {"cpu"}
    assert (folder / "out" / "tworoom-d25.csv").exists()  # queries of this recording
    assert run(folder, "--goal-distance", "25") == told
    assert read_records(folder / "out" / "rows.jsonl") == rows


def test_unknown_action_statistics_are_those_of_the_recording(folder):
    """A model that has none is planned with the corpus' and stays as it is."""
    source = EvalConfig(
        "tworoom", str(folder / "mine.h5"), str(folder / "model.safetensors")
    )
    with source.open() as context, open_corpus(folder / "mine.h5") as corpus:
        actions = corpus.column("action")
        known = actions[~np.isnan(actions).any(axis=1)]
        np.testing.assert_allclose(context.action_stats.mean, known.mean(0), atol=1e-5)
        assert context.model.action_stats is None


def test_a_distance_that_the_paper_does_not_have(folder):
    with pytest.raises(BenchmarkError, match="no result of lewm on tworoom at d = 30"):
        run(folder, "--goal-distance", "30")


def test_a_file_where_a_folder_should_be(folder):
    (folder / "rows").write_text("mine")
    with pytest.raises(BenchmarkError, match="rows is a file. Give a folder"):
        run(folder, "-o", str(folder / "rows"))
    assert (folder / "rows").read_text() == "mine"


def test_a_device_that_is_not_there():
    with pytest.raises(ModelError, match="There is no device 'gpu9' here: "):
        choose_device("gpu9")
