"""Studies run in the real TwoRoom, with the shipped model and twelve episodes."""

import json
import re
import shutil
from dataclasses import replace

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from metro import PricingCurve, build_graph, find_neighbours, load, save
from metro.assets import asset_path
from metro.benchmark import load_benchmark
from metro.cli import app
from metro.data.collect.record import record
from metro.data.corpus import open_corpus
from metro.data.encode import encode_corpus
from metro.errors import BenchmarkError, ModelError
from metro.evaluation.context import EvalConfig
from metro.evaluation.grid import evaluate_grid
from metro.evaluation.queries import Query, load_queries
from metro.evaluation.records import Setting, read_records
from metro.models.loading import load_model
from metro.models.weights import save_model
from metro.studies.corpus_size.run import PartSource, part_of, run_corpus_size
from metro.studies.corpus_size.section import choose_episodes
from metro.studies.micro_planner.run import require_same_encoder
from metro.studies.offline_cost.run import training_cost

MODEL = "lewm-small-tworoom"
METRO = Setting("metro", 1, 8, 15, 7)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Twelve episodes with latents and graph, and four queries 15 frames apart."""
    folder = tmp_path_factory.mktemp("studies")
    benchmark, model = load_benchmark("tworoom"), load_model(MODEL)
    path = folder / "tworoom.h5"
    record(benchmark, path, episodes=12, seed=5, image_size=model.image_size)
    with open_corpus(path) as corpus:
        latents = encode_corpus(corpus, model, folder / "tworoom.latents").latents
    pricing = PricingCurve.fit(latents, waypoint_budget=8)
    graph = build_graph(latents, find_neighbours(latents), pricing)
    save(graph, folder / "tworoom.metro")
    command = ["queries", "tworoom", "--corpus", str(path), "--seed", "1", "--count"]
    command += ["4", "--goal-distance", "15", "-o", str(folder / "q.csv")]
    assert CliRunner().invoke(app, command).exit_code == 0
    return folder


def source(folder, **changed):
    parts = (folder / "tworoom.metro",)
    return PartSource("tworoom", str(folder / "tworoom.h5"), MODEL, *parts, **changed)


def study(name, folder, output, *options):
    command = ["study", name, "tworoom", "--corpus", str(folder / "tworoom.h5")]
    command += ["--model", MODEL, "-o", str(output), *map(str, options)]
    return CliRunner().invoke(app, command)


def planning(folder):
    options = ["--graph", folder / "tworoom.metro", "--queries", folder / "q.csv"]
    return [*options, "--goal-distance", 15, "--step-budget", 15]


def outcomes(rows):
    return [(row["frames_to_success"], row["kinds"]) for row in rows]


def test_a_part_is_a_graph_of_its_own_episodes(folder):
    """Pricing, neighbours and bridges are those of the subset, encoded alone."""
    whole = load(folder / "tworoom.metro")
    episodes = choose_episodes(12, 50, 0)
    part = part_of(whole, episodes)
    latents = whole.latents.subset(list(episodes))
    alone = build_graph(latents, find_neighbours(latents), PricingCurve.fit(latents, 8))
    np.testing.assert_array_equal(part.pricing.gaps, alone.pricing.gaps)
    np.testing.assert_array_equal(part.bridge_frame, alone.bridge_frame)
    assert part_of(whole, np.arange(12)) is whole


def test_the_querys_episode_is_always_held_out(folder):
    """By the number that it has in the graph; None if it is not there."""
    episodes = choose_episodes(12, 50, 0)
    with source(folder, share=50).open() as context:
        for episode in range(12):
            query = Query(episode, 0, 15)
            held_out = context.held_out(query)
            assert (held_out is None) == (episode not in episodes)
            start, goal = context.ends_of(query)
            if held_out is not None:
                own = context.graph.latents.z[context.graph.latents.rows_of(held_out)]
                np.testing.assert_array_equal(start, own[0])
                np.testing.assert_array_equal(goal, own[15])
                routes, _ = context.routes_for(8, query)
                rows = context.graph.latents.rows_of(held_out)
                assert np.isinf(routes.cost_to_go[rows]).all()


def test_corpus_size_runs_and_goes_on(folder, tmp_path):
    """Rows of every share; after a kill only what is missing is planned."""
    output = tmp_path / "corpus-size.jsonl"
    options = [*planning(folder), "--share", 25, "--share", 100]
    shown = study("corpus-size", folder, output, *options)
    assert shown.exit_code == 0, shown.output
    rows = read_records(output)
    assert [(row["share"], row["episodes_used"]) for row in rows] == (
        [(25.0, 3)] * 4 + [(100.0, 12)] * 4
    )
    assert len({row["graph"] for row in rows}) == 2
    assert "| 25 % | 3 |" in shown.output
    lines = output.read_text().splitlines()
    output.write_text("\n".join([*lines[:6], lines[6][:50]]))
    again = study("corpus-size", folder, output, *options)
    assert again.output == shown.output
    assert outcomes(read_records(output)) == outcomes(rows)


def test_the_whole_corpus_is_the_evaluation(folder, tmp_path):
    """100 % gives what metro evaluate gives, on the same queries."""
    asked = load_queries(folder / "q.csv")
    parts = [source(folder, share=100)]
    rows = run_corpus_size(parts, [METRO], asked, tmp_path / "a.jsonl", batch=2)
    plain = EvalConfig(**{k: getattr(parts[0], k) for k in ("benchmark", "corpus",
                        "model", "graph")})  # fmt: skip
    whole = evaluate_grid(plain, [METRO], asked, tmp_path / "b.jsonl", batch=2)
    assert outcomes(rows) == outcomes(whole)
    told = []
    taken = run_corpus_size(
        parts, [METRO], asked, tmp_path / "c.jsonl", known=whole,
        progress=lambda *counts: told.append(counts[:2]),
    )  # fmt: skip
    share = {"share": 100, "subset_seed": 0, "episodes_used": 12}
    assert taken == [row | share for row in whole]
    assert told == [(4, 4)]


def test_bad_shares_cost_nothing(folder, tmp_path):
    """All shares are looked at before the first query is planned."""
    output = tmp_path / "corpus-size.jsonl"
    for share, told in ((1, "1 % of 12 episodes is 0"), (101, "A share must be in")):
        options = [*planning(folder), "--share", 100, "--share", share]
        failed = study("corpus-size", folder, output, *options)
        assert isinstance(failed.exception, BenchmarkError)
        assert str(failed.exception).startswith(told)
    failed = study("corpus-size", folder, output, *planning(folder), "--first", 9)
    assert "4 queries, the first 9 were asked for" in str(failed.exception)
    latents = [*planning(folder)]
    latents[1] = folder / "tworoom.latents"
    failed = study(
        "corpus-size", folder, output, *latents, "--share", 100, "--waypoint-budget", 8
    )
    assert "holds latents, not a graph" in str(failed.exception)
    assert not output.exists()


def test_graphs_of_other_recordings_are_refused(folder, tmp_path):
    """Their episodes could not be held out."""
    whole = load(folder / "tworoom.metro")
    made = dict(whole.latents.provenance) | {"corpus": {"digest": "another"}}
    latents = replace(whole.latents, provenance=made)
    save(build_graph(latents, whole.table, whole.pricing), tmp_path / "other.metro")
    options = [*planning(folder), "--share", 50]
    options[1] = tmp_path / "other.metro"
    failed = study("corpus-size", folder, tmp_path / "rows.jsonl", *options)
    assert str(failed.exception).startswith("The graph is of corpus another")


@pytest.fixture(scope="module")
def tuned(folder):
    """The shipped model with another predictor."""
    model = load_model(MODEL)
    with torch.no_grad():
        for weight in model.network.predictor.parameters():
            weight.mul_(1.01)
    model.notes["name"] = "tuned"
    save_model(model, folder / "tuned.safetensors")
    return folder / "tuned.safetensors"


def test_two_models_share_a_graph(folder, tuned, tmp_path):
    """Rows of three methods and both models; the encoder is the same."""
    output = tmp_path / "micro-planner.jsonl"
    options = [*planning(folder), "--fine-tuned", tuned, "--first", 2]
    shown = study("micro-planner", folder, output, *options)
    assert shown.exit_code == 0, shown.output
    rows = read_records(output)
    told = [(row["role"], row["setting"]["method"]) for row in rows]
    assert sorted(set(told)) == sorted(
        (role, method)
        for role in ("base", "fine-tuned")
        for method in ("flat", "metro", "oracle")
    )
    assert len(rows) == 12
    assert len({row["base"] for row in rows}) == 1
    again = study("micro-planner", folder, output, *options)
    assert (again.output, len(read_records(output))) == (shown.output, 12)
    rows = [row | {"base": "another"} for row in rows]
    output.write_text("".join(json.dumps(row) + "\n" for row in rows))
    failed = study("micro-planner", folder, output, *options)
    assert "has rows of lewm-small-tworoom in another role" in str(failed.exception)


def test_other_encoders_need_their_own_graph(folder, tuned, tmp_path):
    """And a model is not its own fine-tuned version."""
    base, other = load_model(MODEL), load_model("pldm-small-tworoom")
    require_same_encoder(base, load_model(tuned))
    with pytest.raises(ModelError, match="has another encoder than lewm-small-tworoom"):
        require_same_encoder(base, other)
    options = [*planning(folder), "--fine-tuned", MODEL]
    failed = study("micro-planner", folder, tmp_path / "rows.jsonl", *options)
    assert str(failed.exception).startswith("--model and --fine-tuned are the same")
    options = [*planning(folder), "--fine-tuned", tuned, "--method", "replay"]
    failed = study("micro-planner", folder, tmp_path / "rows.jsonl", *options)
    assert str(failed.exception) == (
        "The study compares flat, metro, oracle, got 'replay'."
    )


def test_offline_cost_is_measured_once(folder, tmp_path):
    """Seconds of every phase and the machine's load; the row is kept."""
    output = tmp_path / "offline-cost.jsonl"
    options = ["--latents", folder / "tworoom.latents"]
    shown = study("offline-cost", folder, output, *options)
    assert shown.exit_code == 0, shown.output
    (row,) = read_records(output)
    assert all(row["seconds"][part] > 0 for part in ("encode", "table", "graph", "cpu"))
    assert len(row["load"]) == 2
    assert (row["macro"], row["setting"]["threads"]) == (None, 1)
    again = study("offline-cost", folder, output, *options, "--json")
    assert len(read_records(output)) == 1
    assert json.loads(again.output)[0]["macro model"] == "not trained"


def test_what_training_took_is_read(tmp_path):
    """From the report, else from the card; of another encoder it is refused."""
    name = "macro-lewm-small-tworoom"
    told = training_cost(name, load_model(MODEL))
    card = asset_path(name).with_suffix(".md")
    steps, minutes = re.search(
        r"cost: (\d+) steps, ([\d.]+)", card.read_text()
    ).groups()
    assert (told["steps"], told["minutes"]) == (int(steps), float(minutes))
    with pytest.raises(ModelError, match="is for the encoder"):
        training_cost(name, load_model("pldm-small-tworoom"))
    copy = tmp_path / "macro.safetensors"
    shutil.copy(asset_path(name), copy)
    with pytest.raises(ModelError, match="Neither macro.safetensors.report.json nor"):
        training_cost(str(copy), load_model(MODEL))
    report = tmp_path / "macro.safetensors.report.json"
    report.write_text('{"cost": {"steps": 5, "minutes": 0.5, "cpu_minutes": 0.4}}')
    told = training_cost(str(copy), load_model(MODEL))
    assert told["cpu_minutes"] == 0.4
    assert (told["steps"], told["minutes"], told["source"]) == (5, 0.5, report.name)
