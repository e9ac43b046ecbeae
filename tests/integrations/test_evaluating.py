"""Queries planned in the real TwoRoom, with the shipped model."""

import json
import re

import numpy as np
import pytest
from typer.testing import CliRunner

from metro import PricingCurve, build_graph, find_neighbours
from metro.cli import app
from metro.errors import BenchmarkError
from metro.evaluation.benchmark import load_benchmark
from metro.evaluation.queries import Query, sample_queries, save_queries
from metro.evaluation.records import Setting, read_rows
from metro.integrations.corpora import open_corpus
from metro.integrations.encoding import encode_corpus
from metro.integrations.evaluating import Bench, evaluate
from metro.integrations.models.loading import load_model
from metro.integrations.recording.record import record

FLAT = Setting("flat", 2, None, 20, 7)
METRO = Setting("metro", 1, 8, 20, 7)


@pytest.fixture(scope="module")
def bench(tmp_path_factory):
    """Twelve recorded episodes, their latents and their graph."""
    folder = tmp_path_factory.mktemp("evaluating")
    benchmark, model = load_benchmark("tworoom"), load_model("lewm-small-tworoom")
    path = folder / "tworoom.h5"
    record(benchmark, path, episodes=12, seed=5, image_size=model.image_size)
    with open_corpus(path) as corpus:
        latents = encode_corpus(corpus, model, folder / "tworoom.latents").latents
        pricing = PricingCurve.fit(latents, waypoint_budget=8)
        graph = build_graph(latents, find_neighbours(latents), pricing)
        yield Bench(benchmark, corpus, model, graph)


@pytest.fixture(scope="module")
def queries(bench):
    """Four of them, 15 frames apart."""
    return sample_queries(bench.corpus.lengths, goal_distance=15, count=4, seed=1)


def outcomes(rows):
    return [(row["frames_to_success"], row["kinds"]) for row in rows]


@pytest.mark.parametrize("setting", [FLAT, METRO], ids=["flat", "metro"])
def test_batched_equals_sequential(bench, queries, setting, tmp_path):
    """Every query has its own random numbers: company and order change nothing."""
    together = evaluate(bench, setting, queries, tmp_path / "a.jsonl", batch=4)
    alone = evaluate(bench, setting, queries[::-1], tmp_path / "b.jsonl", batch=1)
    assert outcomes(together) == outcomes(alone[::-1])
    assert any(row["frames_to_success"] for row in together)


def test_goes_on_after_a_kill(bench, queries, tmp_path):
    """Rows that are there are not planned again; half a line is forgotten."""
    whole = evaluate(bench, FLAT, queries, tmp_path / "a.jsonl", batch=2)
    lines = (tmp_path / "a.jsonl").read_text().splitlines()
    cut = tmp_path / "cut.jsonl"
    cut.write_text("\n".join([*lines[:3], lines[3][:40]]))
    assert len(read_rows(cut)) == 3
    told = []
    again = evaluate(
        bench, FLAT, queries, cut, progress=lambda *counts: told.append(counts)
    )
    assert outcomes(again) == outcomes(whole)
    assert [counts[:2] for counts in told] == [(4, 4)]
    assert len(read_rows(cut)) == 4


def test_rows_say_where_they_come_from(bench, queries, tmp_path):
    """Digests, versions, renderer, times: enough to ask the same again."""
    row = evaluate(bench, METRO, queries[:1], tmp_path / "a.jsonl")[0]
    assert row["model"]["digest"] == bench.model.digest
    assert row["corpus"]["digest"] == bench.corpus.digest
    assert row["graph"] == bench.graph.latents.digest
    assert row["versions"]["stable-worldmodel"] == "0.1.1"
    assert set(row["seconds"]) == {"draw", "encode", "guide", "plan", "step"}
    assert json.loads((tmp_path / "a.jsonl").read_text()) == row


def test_a_graph_of_another_model(bench, queries, tmp_path):
    """Latents of another encoder are refused."""
    z = np.random.default_rng(0).normal(size=(40, bench.model.latent_size))
    from metro.latents import Latents

    strange = Latents(z, [0, 20, 40], {"model": {"digest": "0123456789abcdef"}})
    pricing = PricingCurve.fit(strange, waypoint_budget=8)
    graph = build_graph(strange, find_neighbours(strange), pricing)
    told = (
        f"The graph's latents are of model 0123456789ab, not of {bench.model.name} "
        f"({bench.model.digest[:12]}). Encode and build anew."
    )
    wrong = Bench(bench.benchmark, bench.corpus, bench.model, graph)
    with pytest.raises(BenchmarkError, match=f"^{re.escape(told)}$"):
        evaluate(wrong, METRO, queries, tmp_path / "a.jsonl")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("fly", 1, None, 9, 7), "method must be one of flat, metro, got 'fly'."),
        (
            ("flat", 1, 8, 9, 7),
            "waypoint_budget belongs to metro and only to it, got 8 for flat.",
        ),
        (
            ("metro", 1, None, 9, 7),
            "waypoint_budget belongs to metro and only to it, got None for metro.",
        ),
    ],
)
def test_bad_settings(arguments, told):
    """What belongs together."""
    with pytest.raises(BenchmarkError, match=f"^{re.escape(told)}$"):
        Setting(*arguments)


def test_queries_of_another_corpus(bench, tmp_path):
    """The first one that does not exist, and what there is."""
    told = (
        f"{bench.corpus.name} has no query 99,0,5: 12 episodes, 0 frames in that one. "
        f"Record the corpus that the queries are from."
    )
    with pytest.raises(BenchmarkError, match=f"^{re.escape(told)}$"):
        evaluate(bench, FLAT, [Query(99, 0, 5)], tmp_path / "a.jsonl")


def test_the_verb(bench, queries, tmp_path):
    """The same rows, and one sentence."""
    save_queries(queries[:2], tmp_path / "q.csv")
    command = ["evaluate", "tworoom", "--corpus", bench.corpus.name, "--model"]
    command += ["lewm-small-tworoom", "--method", "flat", "--plan-blocks", "2"]
    command += ["--queries", str(tmp_path / "q.csv"), "--step-budget", "20"]
    command += ["-o", str(tmp_path / "rows.jsonl")]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    rows = evaluate(bench, FLAT, queries[:2], tmp_path / "b.jsonl")
    assert outcomes(read_rows(tmp_path / "rows.jsonl")) == outcomes(rows)
    solved = sum(row["frames_to_success"] is not None for row in rows)
    assert shown.output.startswith(
        f"tworoom, flat, h = 2, T = 20: {solved} of 2 queries solved"
    )
    told = CliRunner().invoke(app, [*command, "--json"])
    assert json.loads(told.output)["solved"] == solved
