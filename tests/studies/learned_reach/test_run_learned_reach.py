"""A head trained and planned with in the real TwoRoom."""

from functools import partial

import numpy as np
import pytest
from typer.testing import CliRunner

from metro.cli import app
from metro.errors import BenchmarkError
from metro.evaluation.context import EvalConfig
from metro.evaluation.queries import Query
from metro.evaluation.records import Setting, read_records
from metro.evaluation.run import evaluate
from metro.models.learned_reach import LearnedReach, load_head
from metro.models.reach_training import train_head
from metro.storage.artefacts import load_graph
from metro.studies.learned_reach import run_learned_reach
from metro.studies.learned_reach.run_learned_reach import price_by_head
from study_makers import MODEL, planning, study

OPTIONS = ["reach", "reach-recorded", "learned", "learned-recorded"]


@pytest.fixture(scope="module")
def reach_file(folder):
    """The small TwoRoom's graph, priced by the model's reach."""
    corpus, output = folder / "tworoom.h5", folder / "reach.metro"
    command = ["build", folder / "tworoom.latents", "--pricing", "reach", "--model"]
    command += [MODEL, "--corpus", corpus, "-o", output]
    done = CliRunner().invoke(app, list(map(str, command)))
    assert done.exit_code == 0, done.output
    return output


@pytest.fixture(scope="module")
def ran(folder, reach_file, tmp_path_factory):
    """The study's output, its rows and how to run it again."""
    output = tmp_path_factory.mktemp("learned") / "rows.jsonl"
    options = [*planning(folder), "--first", 2, "--graph", reach_file]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run_learned_reach, "train_head", partial(train_head, steps=40))
        shown = study("learned-reach", folder, output, *options)
    assert shown.exit_code == 0, shown.output
    return output, options, shown.output


def test_both_prices_are_planned_once(folder, ran):
    """Rows name their option; a second run trains and plans nothing."""
    output, options, shown = ran
    rows = read_records(output)
    assert [row["setting"]["option"] for row in rows[::2]] == OPTIONS
    assert len(rows) == 8
    assert [row["error"] for row in rows] == [None] * 8
    head = output.with_suffix(".head.safetensors")
    assert len({row.get("head") for row in rows[4:]}) == 1
    before = head.stat().st_mtime_ns
    again = study("learned-reach", folder, output, *options)
    assert (again.output, read_records(output)) == (shown, rows)
    assert head.stat().st_mtime_ns == before


def test_bridges_cost_what_the_head_says(ran, reach_file):
    """κ, a block, and one more per unit of m beyond the floor, by the slow way."""
    graph = load_graph(reach_file)
    head = load_head(ran[0].with_suffix(".head.safetensors"), graph.latents)
    measure = LearnedReach(head)
    priced = price_by_head(graph, measure, block=5)
    z = graph.latents.z
    recorded = [
        measure(z[u, None], z[u + 5, None, None])[0, 0]
        for u in range(graph.num_frames - 5)
        if graph.latents.episode_of(u) == graph.latents.episode_of(u + 5)
    ]
    assert priced.reach.floor == pytest.approx(np.quantile(recorded, 0.25), rel=1e-5)
    for u, v, cost in list(zip(*priced.bridges(), strict=True))[::97]:
        gap = np.linalg.norm(z[u].astype(float) - z[v])
        beyond = measure(z[u, None], z[v, None, None])[0, 0] - priced.reach.floor
        expected = float(priced.pricing.price(gap)) + 5 * (1 + max(0.0, beyond)) - 1
        assert cost == pytest.approx(expected, rel=1e-4)
    assert np.array_equal(priced.table.frame, graph.table.frame)
    assert np.bincount(priced.bridges()[0]).max() == priced.num_links == 4


def test_parts_that_do_not_fit_are_refused(folder, ran, reach_file, tmp_path):
    """One line each: a graph without reach, a head of something else, no head."""
    output, options, _ = ran
    failed = study("learned-reach", folder, tmp_path / "x.jsonl", *planning(folder))
    assert "metro build LATENTS --pricing reach" in str(failed.exception)
    (tmp_path / "y.head.safetensors").write_bytes(b"not a head")
    known = ("--known", output)
    failed = study("learned-reach", folder, tmp_path / "y.jsonl", *options, *known)
    assert "y.head.safetensors" in str(failed.exception)
    assert "\n" not in str(failed.exception)
    config = EvalConfig("tworoom", str(folder / "tworoom.h5"), MODEL, reach_file)
    setting = Setting("metro", 1, 8, 20, 7, option="learned")
    with pytest.raises(BenchmarkError, match="learned needs a trained reach head"):
        evaluate(config, setting, [Query(0, 0, 20)], tmp_path / "z.jsonl")
