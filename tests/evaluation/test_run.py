"""Queries planned in the real TwoRoom, with the shipped model."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from bench_makers import FatalSource
from typer.testing import CliRunner

from metro import PricingCurve, build_graph, find_neighbours, pool
from metro.analysis.grouping import group_rows
from metro.benchmark import load_benchmark
from metro.cli import app
from metro.data.corpus import open_corpus
from metro.errors import BenchmarkError, LatentsError, MetroError, WorldError
from metro.evaluation.context import EvalConfig, EvalContext
from metro.evaluation.metadata import row_metadata
from metro.evaluation.queries import (
    Query,
    load_queries,
    sample_queries,
    save_queries,
)
from metro.evaluation.records import Setting, read_records
from metro.evaluation.run import as_query_set, evaluate
from metro.evaluation.settings import choose_settings
from metro.models.loading import load_model
from metro.planners.cem import CEMSettings
from metro.planners.micro import CEMPlanner
from metro.storage.artefacts import load_graph

FLAT = Setting("flat", 2, None, 20, 7)
METRO = Setting("metro", 1, 8, 20, 7)


@pytest.fixture(scope="module")
def context(tworoom_folder):
    """Twelve recorded episodes, their latents and their graph."""
    benchmark, model = load_benchmark("tworoom"), load_model("lewm-small-tworoom")
    graph = load_graph(tworoom_folder / "tworoom.metro")
    with open_corpus(tworoom_folder / "tworoom.h5") as corpus:
        with EvalContext(benchmark, corpus, model, graph) as opened:
            yield opened


@pytest.fixture(scope="module")
def queries(context):
    """Four of them, 15 frames apart."""
    return sample_queries(context.corpus.lengths, goal_distance=15, count=4, seed=1)


@pytest.fixture(scope="module")
def query_file(context, tmp_path_factory):
    """The same four, looked at in their world, as the verb writes them."""
    path = tmp_path_factory.mktemp("queries") / "q.csv"
    command = ["queries", "tworoom", "--corpus", context.corpus.name, "--seed", "1"]
    command += ["--goal-distance", "15", "--count", "4", "-o", str(path)]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    return path


@pytest.fixture(scope="module")
def source(context):
    """Where the parts of the context are."""
    graph = Path(context.corpus.name).with_suffix(".metro")
    return EvalConfig("tworoom", context.corpus.name, "lewm-small-tworoom", graph)


def outcomes(rows):
    return [(row["frames_to_success"], row["kinds"]) for row in rows]


@pytest.mark.parametrize("setting", [FLAT, METRO], ids=["flat", "metro"])
def test_batched_equals_sequential(context, queries, setting, tmp_path):
    """Every query has its own random numbers: company and order change nothing."""
    together = evaluate(context, setting, queries, tmp_path / "a.jsonl", batch=4)
    alone = evaluate(context, setting, queries[::-1], tmp_path / "b.jsonl", batch=1)
    assert outcomes(together) == outcomes(alone[::-1])
    assert any(row["frames_to_success"] for row in together)


@pytest.mark.parametrize("name", ["lewm-small-tworoom", "pldm-small-tworoom"])
def test_first_plans_do_not_depend_on_company(context, queries, name):
    """Equal to float32 rounding: matrix products of more rows may add otherwise."""
    model = load_model(name)
    seeds = [FLAT.seed_of(query) for query in queries]
    settings = CEMSettings(2, iterations=10)
    starts, goals = (
        model.encode(np.stack([context.corpus.frames(e)[step] for e, step in ends]))
        for ends in (
            [(query.episode, query.start) for query in queries],
            [(query.episode, query.goal) for query in queries],
        )
    )
    stats = {"action_stats": context.action_stats}
    everyone = CEMPlanner(model, settings, seeds, **stats)
    together = everyone.plan(starts, goals, range(len(seeds)))
    for number, seed in enumerate(seeds):
        one = slice(number, number + 1)
        alone = CEMPlanner(model, settings, [seed], **stats)
        alone = alone.plan(starts[one], goals[one], [0])
        np.testing.assert_allclose(alone[0], together[number], atol=2e-5)


def test_rows_say_whether_the_model_has_seen_the_recordings(context, queries, tmp_path):
    """Ours were trained on others; a model of this very file says so."""
    (row,) = evaluate(context, FLAT, queries[:1], tmp_path / "a.jsonl")
    assert row["trained_on_corpus"] is False
    seen = {"corpus": {"digest": context.corpus.digest}}
    for notes, told in ((seen, True), ({}, None)):
        model = load_model("lewm-small-tworoom")
        model.notes = notes
        opened = EvalContext(context.benchmark, context.corpus, model)
        assert (
            row_metadata(opened, as_query_set(queries), FLAT)["trained_on_corpus"]
            is told
        )


def test_goes_on_after_a_kill(context, queries, tmp_path):
    """Rows that are there are not planned again; half a line is forgotten."""
    whole = evaluate(context, FLAT, queries, tmp_path / "a.jsonl", batch=2)
    lines = (tmp_path / "a.jsonl").read_text().splitlines()
    cut = tmp_path / "cut.jsonl"
    cut.write_text("\n".join([*lines[:3], lines[3][:40]]))
    assert len(read_records(cut)) == 3
    told = []
    again = evaluate(
        context, FLAT, queries, cut, progress=lambda *counts: told.append(counts)
    )
    assert outcomes(again) == outcomes(whole)
    assert [counts[:2] for counts in told] == [(3, 4), (4, 4)]
    assert len(read_records(cut)) == 4


def test_queries_know_their_world(context, queries, query_file):
    """Which starts are solved, and how soon the recording itself meets the goal."""
    found = load_queries(query_file)
    assert list(found) == queries
    assert found.corpus == context.corpus.digest
    for query in found:
        assert query.is_presolved in (True, False)
        assert 1 <= query.demonstration_frames <= 15
    places = context.corpus.column("proprio")
    for query in found:
        first = int(context.corpus.offsets[query.episode])
        way = places[first + query.start : first + query.goal + 1]
        near = np.linalg.norm(way - way[-1], axis=1) < 16
        assert query.is_presolved == near[0]
        assert query.demonstration_frames == 1 + np.argmax(near[1:])


def test_workers_change_nothing(source, query_file, tmp_path):
    """Two processes, another batch: the same rows."""
    asked = load_queries(query_file)
    settings = [METRO, replace(METRO, waypoint_budget=6), FLAT]
    one, two = (
        evaluate(source, settings, asked, tmp_path / f"{n}.jsonl", batch=n, workers=w)
        for n, w in ((4, 1), (2, 2))
    )
    assert len(one) == 12
    assert outcomes(one) == outcomes(two)
    assert [row["setting"] for row in one] == [row["setting"] for row in two]
    again = evaluate(source, settings, asked, tmp_path / "4.jsonl")
    assert again == one


def test_graphs_of_other_budgets_share_the_table(context):
    """Another H is priced anew, not searched anew; routes are kept for one H."""
    other = context.graph_for(6)
    assert other.table is context.graph.table
    assert other.waypoint_budget == 6
    query = Query(0, 0, 15)
    assert context.routes_for(6, query) is context.routes_for(6, query)
    assert context.routes_for(8, query)[0].graph is context.graph
    context.forget_routes()
    assert context.graphs._routes == {}


@pytest.mark.parametrize("method", ["oracle", "waypoints", "replay", "stay", "random"])
def test_ceilings_and_floors(context, queries, method, tmp_path):
    """The recorded actions always arrive; standing still never does by itself."""
    setting = Setting(method, 1, None, 30, 7)
    rows = evaluate(context, setting, queries, tmp_path / "a.jsonl")
    solved = [row["frames_to_success"] is not None for row in rows]
    presolved = [row["is_presolved"] for row in rows]
    if method == "replay":
        assert all(solved)
    if method == "stay":
        assert solved == presolved
    assert (rows[0]["model"] is None) == (method in ("replay", "stay", "random"))
    assert rows[0]["graph"] is None


def test_committed_and_metro_start_alike(context, queries, tmp_path):
    """The first sub-goal is the same; what follows may not be."""
    committed = replace(METRO, method="committed", step_budget=10)
    metro = replace(METRO, step_budget=10)  # two micro plans: one sub-goal
    rows = [
        evaluate(context, setting, queries, tmp_path / "a.jsonl")
        for setting in (committed, metro)
    ]
    assert outcomes(rows[0]) == outcomes(rows[1])


def test_a_world_that_dies_is_a_row(context, queries, tmp_path, monkeypatch):
    """Marked, not solved, and replaced: the other queries are planned."""
    victim = context.envs.take(2)[0]

    def die(action):
        raise FloatingPointError("the simulation is unstable")

    monkeypatch.setattr(victim, "step", die)
    rows = evaluate(context, FLAT, queries, tmp_path / "a.jsonl", batch=2)
    told = "FloatingPointError: the simulation is unstable"
    assert [row["error"] for row in rows] == [told, None, None, None]
    assert rows[0]["frames_to_success"] is None
    assert victim not in context.envs.take(2)


@pytest.mark.parametrize("moment", ["set_state", "set_goal", "is_solved"])
def test_a_world_that_dies_on_the_way_to_its_start_is_a_row(
    context, queries, tmp_path, monkeypatch, moment
):
    """The run goes on with the others, in a world that is new."""
    victim = context.envs.take(2)[0]

    def die(*_):
        raise RuntimeError("no such state")

    monkeypatch.setattr(victim, moment, die)
    rows = evaluate(context, FLAT, queries[:2], tmp_path / "a.jsonl", batch=2)
    assert [row["error"] for row in rows] == ["RuntimeError: no such state", None]
    assert (rows[0]["frames_to_success"], rows[0]["is_presolved"]) == (None, False)
    assert victim not in context.envs.take(2)


def test_another_budget_keeps_the_quantile_of_the_graph(context):
    """H is the only thing that a sweep changes."""
    latents = context.graph.latents
    pricing = PricingCurve.fit(latents, 8, quantile=0.9)
    graph = build_graph(latents, context.graph.table, pricing)
    other = EvalContext(context.benchmark, context.corpus, context.model, graph)
    assert other.graph_for(6).pricing.quantile == 0.9


def test_a_worker_that_dies_is_told(source, query_file, tmp_path, monkeypatch):
    """One line, not a traceback; nothing that was finished is lost."""
    monkeypatch.setattr(pool, "_start", os._exit)  # where every worker begins
    asked = load_queries(query_file)
    with pytest.raises(
        WorldError, match="^A worker process died before its first task"
    ):
        evaluate(source, [FLAT], asked, tmp_path / "a.jsonl", batch=2, workers=2)


def test_a_query_that_kills_its_process_is_a_row(source, query_file, tmp_path):
    """The run goes on with the others; asked again, it is tried again."""
    asked, path = load_queries(query_file), tmp_path / "a.jsonl"
    fatal = FatalSource(**vars(source), victim=asked.queries[1].episode)
    rows = evaluate(fatal, [FLAT], asked, path, batch=1, workers=2)
    victims = [query.episode == fatal.victim for query in asked]
    assert [row["error"] for row in rows] == [pool.DIED if v else None for v in victims]
    assert 0 < sum(victims) < len(rows) == 4
    (cell,) = group_rows(read_records(path))
    assert sum(row.error is not None for row in cell.runs) == sum(victims)
    again = evaluate(source, [FLAT], asked, path, batch=4)
    assert all(row["error"] is None for row in again)
    assert len(read_records(path)) == 4 + sum(victims)
    (cell,) = group_rows(read_records(path))
    assert all(row.error is None for row in cell.runs)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (["--graph", "LATENTS"], "holds latents, not a graph. Make one: metro build"),
        (["--method", "flat", "--macro-steps", "2"], "macro_steps belongs to hi-lewm"),
        (["--method", "hi-lewm-c-staged", "--macro-steps", "4"], "has 2 stages: leave"),
        (["--graph", "GRAPH", "--waypoint-budget", "900"], "below the longest episode"),
        (["--planner-seed", "-1"], "greater than or equal to 0"),
        (["--method", "flat", "-o", "CSV/rows.jsonl"], "rows.jsonl cannot be written"),
    ],
)
def test_bad_options_are_one_line(source, query_file, tmp_path, given, told):
    """Said before anything is planned."""
    graph = str(source.graph)
    names = {"LATENTS": graph.replace(".metro", ".latents"), "GRAPH": graph}
    names["CSV/rows.jsonl"] = f"{query_file}/rows.jsonl"
    command = ["evaluate", "tworoom", "--corpus", source.corpus, "--model"]
    command += [source.model, "-o", str(tmp_path / "a.jsonl"), "--goal-distance", "15"]
    command += ["--queries", str(query_file), *(names.get(one, one) for one in given)]
    ran = CliRunner().invoke(app, command)
    assert ran.exit_code != 0
    said = " ".join((str(ran.exception) + ran.output).replace("│", " ").split())
    assert told in said
    assert isinstance(ran.exception, MetroError | SystemExit)


def test_rows_say_where_they_come_from(context, queries, tmp_path):
    """Digests, versions, renderer, times: enough to ask the same again."""
    row = evaluate(context, METRO, queries[:1], tmp_path / "a.jsonl")[0]
    assert row["model"]["digest"] == context.model.digest
    assert row["corpus"]["digest"] == context.corpus.digest
    assert row["graph"] == context.graph.latents.digest
    assert row["graph_options"] == {"num_neighbours": 4, "quantile": 0.25}
    assert row["versions"]["stable-worldmodel"] == "0.1.1"
    assert set(row["seconds"]) == {"draw", "encode", "search", "entry", "plan", "step"}
    assert json.loads((tmp_path / "a.jsonl").read_text()) == row


def test_a_graph_of_another_model(context, queries, tmp_path):
    """Latents of another encoder are refused."""
    z = np.random.default_rng(0).normal(size=(40, context.model.latent_size))
    from metro.core.latents import Latents

    strange = Latents(z, [0, 20, 40], {"model": {"digest": "0123456789abcdef"}})
    pricing = PricingCurve.fit(strange, waypoint_budget=8)
    graph = build_graph(strange, find_neighbours(strange), pricing)
    wrong = EvalContext(context.benchmark, context.corpus, context.model, graph)
    with pytest.raises(LatentsError, match="another model: 0123456789ab"):
        evaluate(wrong, METRO, queries, tmp_path / "a.jsonl")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ("fly", 1, None, 9, 7),
            "method must be one of metro, committed, flat, oracle, waypoints, hi-lewm, "
            "hi-lewm-c, hi-lewm-c-staged, replay, random, stay, got 'fly'.",
        ),
        (
            ("flat", 1, 8, 9, 7),
            "waypoint_budget belongs to metro and committed, and only to them; got 8 "
            "for flat.",
        ),
        (
            ("metro", 1, None, 9, 7),
            "waypoint_budget belongs to metro and committed, and only to them; got "
            "None for metro.",
        ),
        (
            ("hi-lewm", 2, None, 9, 7),
            "macro_steps belongs to hi-lewm, hi-lewm-c, hi-lewm-c-staged, and only to "
            "them; got None for hi-lewm.",
        ),
        (("flat", 0, None, 9, 7), "plan_blocks must be 1 to 60, got 0."),
        (("flat", 1, None, 0, 7), "step_budget must be 1 to 100000, got 0."),
    ],
)
def test_bad_settings(arguments, told):
    """What belongs together."""
    with pytest.raises(BenchmarkError, match=f"^{re.escape(told)}$"):
        Setting(*arguments)


def test_queries_of_another_corpus(context, tmp_path):
    """The first one that does not exist, and what there is."""
    told = (
        f"{context.corpus.name} has no query 99,0,5: 12 episodes, 0 frames in that "
        f"one. Record the corpus that the queries are from."
    )
    with pytest.raises(BenchmarkError, match=f"^{re.escape(told)}$"):
        evaluate(context, FLAT, [Query(99, 0, 5)], tmp_path / "a.jsonl")


def test_the_verb(context, queries, tmp_path):
    """The same rows, and one sentence."""
    save_queries(queries[:2], tmp_path / "q.csv")
    command = ["evaluate", "tworoom", "--corpus", context.corpus.name, "--model"]
    command += ["lewm-small-tworoom", "--method", "flat", "--plan-blocks", "2"]
    command += ["--queries", str(tmp_path / "q.csv"), "--step-budget", "20"]
    command += ["--goal-distance", "15"]
    command += ["-o", str(tmp_path / "rows.jsonl")]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    rows = evaluate(context, FLAT, queries[:2], tmp_path / "b.jsonl")
    assert outcomes(read_records(tmp_path / "rows.jsonl")) == outcomes(rows)
    solved = sum(row["frames_to_success"] is not None for row in rows)
    assert shown.output.startswith(
        f"tworoom, flat, h = 2, T = 20: {solved} of 2 queries solved"
    )
    told = CliRunner().invoke(app, [*command, "--json"])
    assert json.loads(told.output)["solved"] == solved


def test_a_sweep(source, query_file, tmp_path):
    """A grid of h and H, success read off at smaller budgets, the best marked."""
    command = ["sweep", "tworoom", "--corpus", source.corpus, "--model", source.model]
    command += ["--graph", str(source.graph), "--queries", str(query_file)]
    command += ["--goal-distance", "15", "--plan-blocks", "1", "--planner-seed", "7"]
    command += ["--waypoint-budget", "6,8", "-o", str(tmp_path / "rows.jsonl")]
    shown = CliRunner().invoke(app, [*command, "--json"])
    assert shown.exit_code == 0, shown.output
    cells = json.loads(shown.output)
    assert {(c["waypoint_budget"], c["step_budget"]) for c in cells} == {
        (budget, steps) for budget in (6, 8) for steps in (15, 18, 30, 60)
    }
    assert any(cell["is_best"] for cell in cells)
    assert len(read_records(tmp_path / "rows.jsonl")) == 8
    table = CliRunner().invoke(app, command)
    assert "success" in table.output


def test_a_query_file_of_another_corpus(source, query_file, tmp_path):
    """The digests, and what to do."""
    text = query_file.read_text().replace("# corpus ", "# corpus 0")
    (tmp_path / "q.csv").write_text(text)
    asked = load_queries(tmp_path / "q.csv")
    with pytest.raises(BenchmarkError, match=r"^q\.csv has queries of corpus 0"):
        evaluate(source, [FLAT], asked, tmp_path / "a.jsonl")


def test_hierarchical_methods_are_rows_like_others(source, context, tmp_path):
    """With the shipped macro model; batched or alone, the same outcome."""
    drawn = sample_queries(context.corpus.lengths, goal_distance=25, count=2, seed=3)
    save_queries(drawn, tmp_path / "q.csv", corpus=context.corpus.digest)
    asked = load_queries(tmp_path / "q.csv")
    shipped = replace(source, macro="macro-lewm-small-tworoom")
    setting = Setting("hi-lewm", 2, None, 12, 7, 1)
    rows = [
        evaluate(shipped, [setting], asked, tmp_path / f"{n}.jsonl", batch=n)
        for n in (1, 2)
    ]
    assert outcomes(rows[0]) == outcomes(rows[1])
    assert rows[0][0]["macro"]["name"] == "macro-lewm-small-tworoom"
    assert rows[0][0]["setting"]["macro_steps"] == 1
    assert "macro" in rows[0][0]["kinds"]


def test_a_bank_needs_enough_recordings(source, context, tmp_path):
    """Twelve episodes do not fill it: an error, not a smaller bank."""
    drawn = sample_queries(context.corpus.lengths, goal_distance=25, count=1, seed=3)
    save_queries(drawn, tmp_path / "q.csv")
    asked = load_queries(tmp_path / "q.csv")
    shipped = replace(source, macro="macro-lewm-small-tworoom")
    setting = Setting("hi-lewm-c", 2, None, 12, 7, 1)
    with pytest.raises(MetroError, match="65536|65,536"):
        evaluate(shipped, [setting], asked, tmp_path / "a.jsonl")


def test_the_micro_plan_of_hierarchical_methods_is_fixed(source):
    """Two blocks; another number is refused, not ignored."""
    given = {"waypoint_budgets": None, "step_budget": 12, "planner_seeds": [7]}
    (chosen,) = choose_settings(source, "hi-lewm-c", plan_blocks=None, **given)
    assert chosen.plan_blocks == 2
    with pytest.raises(BenchmarkError, match="plans 2 blocks, .* got 3"):
        choose_settings(source, "hi-lewm-c", plan_blocks=[3], **given)
    (flat,) = choose_settings(source, "flat", plan_blocks=None, **given)
    assert flat.plan_blocks == 1
