"""Graphs priced by reach, from recordings to actions."""

import numpy as np
import pytest
from typer.testing import CliRunner

import metro
from metro.cli import app
from metro.errors import BenchmarkError, LatentsError
from metro.evaluation.context import EvalConfig
from metro.evaluation.queries import Query
from metro.evaluation.records import Setting
from metro.evaluation.run import evaluate
from metro.planners.methods.action_copy import ACTION_COPY
from metro.planners.methods.metro import OPTIONS

MODEL = "lewm-small-tworoom"


def run(*arguments):
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def reach_file(tworoom_folder, tmp_path_factory):
    output = tmp_path_factory.mktemp("reach") / "reach.metro"
    latents, corpus = tworoom_folder / "tworoom.latents", tworoom_folder / "tworoom.h5"
    parts = ("--pricing", "reach", "--model", MODEL, "--corpus", corpus)
    done = run("build", latents, *parts, "-o", output)
    assert done.exit_code == 0, done.output
    return output


def test_a_graph_comes_back_as_it_was_written(reach_file):
    """Version 2: prices, reach distances and constants are in the file."""
    graph = metro.load_graph(reach_file, verify=True)
    assert graph.is_directed
    assert (graph.num_neighbours, graph.table.num_neighbours) == (4, 32)
    assert (graph.bridge_cost >= graph.bridge_price).all()
    assert '"version": 2' in (reach_file / "manifest.json").read_text()
    assert not list(reach_file.parent.glob(".*.partial"))


def test_a_graph_priced_by_gap_stays_version_1(tworoom_folder):
    """An earlier metro can read it."""
    text = (tworoom_folder / "tworoom.metro" / "manifest.json").read_text()
    assert '"version": 1' in text


@pytest.mark.parametrize(
    ("method", "option"),
    [
        *(("metro", option) for option in (None, *OPTIONS)),
        *(("action-copy", option) for option in (None, *ACTION_COPY.options)),
    ],
)
def test_every_option_plans_and_batches_change_nothing(
    reach_file, tworoom_folder, tmp_path, method, option
):
    """One graph serves the paper's way and all options; rows name the option."""
    config = EvalConfig(
        "tworoom", str(tworoom_folder / "tworoom.h5"), MODEL, reach_file
    )
    setting = Setting(method, 1, 8, 20, 7, option=option)
    queries = [Query(0, 0, 20), Query(1, 2, 22)]
    together = evaluate(config, setting, queries, tmp_path / "a.jsonl", batch=2)
    alone = evaluate(config, setting, queries, tmp_path / "b.jsonl", batch=1)
    for one, other in zip(together, alone, strict=True):
        assert one["error"] is None
        assert one["setting"].get("option") == option
        assert one["frames_to_success"] == other["frames_to_success"]
        assert one["kinds"] == other["kinds"]


def test_the_papers_way_on_a_graph_with_reach_is_the_papers(
    reach_file, tworoom_folder, tmp_path
):
    """Without the option the wide table gives what the graph of k = 4 gives."""
    rows = []
    for number, graph in enumerate([reach_file, tworoom_folder / "tworoom.metro"]):
        config = EvalConfig("tworoom", str(tworoom_folder / "tworoom.h5"), MODEL, graph)
        setting = Setting("metro", 1, 8, 20, 7)
        path = tmp_path / f"{number}.jsonl"
        rows.append(evaluate(config, setting, [Query(0, 0, 20)], path)[0])
    assert rows[0]["kinds"] == rows[1]["kinds"]
    assert rows[0]["frames_to_success"] == rows[1]["frames_to_success"]


def wide_by_gap(reach_file, folder):
    """The same neighbours as the file's, priced by gap."""
    graph = metro.load_graph(reach_file)
    table = graph.table.nearest(32)
    metro.save(metro.build_graph(graph.latents, table, graph.pricing), folder)
    return folder


def test_a_graph_priced_by_gap_gives_the_answers_of_one_that_was_measured(
    reach_file, tworoom_folder, tmp_path
):
    """Evaluated and asked for a route, without being built again."""
    rows, shown = [], []
    corpus = str(tworoom_folder / "tworoom.h5")
    by_gap = wide_by_gap(reach_file, tmp_path / "gap.metro")
    for number, graph in enumerate([reach_file, by_gap]):
        config = EvalConfig("tworoom", corpus, MODEL, graph)
        setting = Setting("metro", 1, 8, 20, 7, option="reach")
        queries = [Query(0, 0, 20), Query(1, 2, 22)]
        rows.append(evaluate(config, setting, queries, tmp_path / f"{number}.jsonl"))
        words = ("--from", 3, "--to", 300, "--json", "--pricing", "reach")
        done = run("route", graph, *words, "--model", MODEL, "--corpus", corpus)
        assert done.exit_code == 0, done.output
        shown.append(done.output)
    assert shown[0] == shown[1]
    for one, other in zip(*rows, strict=True):
        assert one["error"] is None
        assert one["frames_to_success"] == other["frames_to_success"]
        assert one["kinds"] == other["kinds"]


def test_memory_needs_a_graph_that_was_measured(tworoom_folder, tmp_path):
    """A graph priced by gap is refused, with the command that makes the other."""
    graph = tworoom_folder / "tworoom.metro"
    config = EvalConfig("tworoom", str(tworoom_folder / "tworoom.h5"), MODEL, graph)
    setting = Setting("metro", 1, 8, 20, 7, option="reach-memory")
    with pytest.raises(BenchmarkError, match="metro build LATENTS --pricing reach"):
        evaluate(config, setting, [Query(0, 0, 20)], tmp_path / "rows.jsonl")


def test_a_policy_takes_reach_as_it_is_needed(tworoom_folder):
    """No graph is built again; memory is refused."""
    with metro.open_corpus(tworoom_folder / "tworoom.h5") as corpus:
        frame, goal = corpus.frames(0)[0], corpus.frames(9)[10]
        graph = metro.load_graph(tworoom_folder / "tworoom.metro")
        model = metro.load_model(MODEL)
        lazy = metro.LazyReach.from_corpus(graph, corpus, model)
    assert np.isfinite(metro.MetroPolicy(lazy, model).act(frame, goal)).all()
    with pytest.raises(BenchmarkError, match="which a LazyReach cannot"):
        metro.MetroPolicy(lazy, model, memory=True)


def test_a_policy_plans_with_reach_and_recorded_actions(reach_file, tworoom_folder):
    """The policy attaches the model's reach and starts from recorded actions."""
    with metro.open_corpus(tworoom_folder / "tworoom.h5") as corpus:
        frame, goal = corpus.frames(0)[0], corpus.frames(9)[10]
        actions = corpus.column("action")
    policy = metro.MetroPolicy(reach_file, MODEL, recorded=actions)
    action = policy.act(frame, goal)
    assert action.shape == (2,)
    assert np.isfinite(action).all()
    with pytest.raises(BenchmarkError, match="one action per frame"):
        metro.MetroPolicy(reach_file, MODEL, recorded=actions[:5])


@pytest.mark.parametrize("memory", [False, True])
def test_a_policy_that_stands_still_notices_it_with_memory(
    reach_file, tworoom_folder, memory
):
    """The same picture again: the same sub-goal, or one for which the price rose."""
    with metro.open_corpus(tworoom_folder / "tworoom.h5") as corpus:
        frame, goal = corpus.frames(0)[0], corpus.frames(9)[-1]
        actions = corpus.column("action")
    policy = metro.MetroPolicy(reach_file, MODEL, recorded=actions, memory=memory)
    costs = []
    for _ in range(16):
        policy.act(frame, goal)
        costs.append(policy.sub_goals[0].cost_to_go)
    assert (len(set(costs)) > 1) == memory
    assert costs == sorted(costs)


def test_another_model_is_refused(tworoom_folder, tmp_path):
    """Its reach would be of other latents."""
    latents, corpus = tworoom_folder / "tworoom.latents", tworoom_folder / "tworoom.h5"
    parts = ("--pricing", "reach", "--model", "pldm-small-tworoom", "--corpus", corpus)
    done = run("build", latents, *parts, "-o", tmp_path / "x.metro")
    assert isinstance(done.exception, LatentsError) or done.exit_code == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--pricing", "time"), "gap or reach"),
        (("--pricing", "reach"), "needs --model and"),
    ],
)
def test_wrong_options_are_named(tworoom_folder, tmp_path, options, message):
    """Before anything is computed."""
    latents = tworoom_folder / "tworoom.latents"
    done = run("build", latents, *options, "-o", tmp_path / "x.metro")
    assert done.exit_code == 2
    assert message in " ".join(done.output.replace("│", " ").split())
