"""Residuals measured in the real TwoRoom with the shipped models; states of all."""

import json
import re

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from metro import PricingCurve, build_graph, find_neighbours, save
from metro.benchmark import load_benchmark
from metro.cli import app
from metro.data.collect.record import record
from metro.data.corpus import open_corpus
from metro.data.encode import encode_corpus
from metro.envs.pusht_states import leave_each_other
from metro.envs.state_spaces import OpenAdapter
from metro.errors import (
    BenchmarkError,
    LatentsError,
    MetroError,
    ModelError,
    WorldError,
)
from metro.evaluation.context import EvalConfig
from metro.evaluation.queries import Query, QuerySet, save_queries
from metro.evaluation.records import Setting, read_records
from metro.models.loading import load_model
from metro.storage.artefacts import load
from metro.studies.residual import run as running
from metro.studies.residual.figure import draw_pictures
from metro.studies.residual.measure import SearchConfig, SearchContext
from metro.studies.residual.run import measure_residuals
from metro.studies.residual.search import BUDGETS, Budget
from metro.studies.residual.sources import Asked, find_targets
from metro.studies.residual.sub_goals import collect_sub_goals, load_sub_goals
from metro.studies.residual.targets import (
    Targets,
    random_targets,
    recorded_targets,
    sub_goal_targets,
)

QUICK = {"small": Budget(2, 8, 64), "large": Budget(3, 10, 64)}


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    """Twelve recorded episodes, their latents and their graph."""
    folder = tmp_path_factory.mktemp("residual")
    model, path = load_model("lewm-small-tworoom"), folder / "tworoom.h5"
    benchmark = load_benchmark("tworoom")
    record(benchmark, path, episodes=12, seed=5, image_size=model.image_size)
    with open_corpus(path) as corpus:
        latents = encode_corpus(corpus, model, folder / "tworoom.latents").latents
    pricing = PricingCurve.fit(latents, waypoint_budget=8)
    save(build_graph(latents, find_neighbours(latents), pricing), folder / "a.metro")
    return SearchConfig(
        "tworoom", str(path), "lewm-small-tworoom", folder / "tworoom.latents"
    )


@pytest.fixture
def quick(monkeypatch):
    """Small searches, for tests that are about something else."""
    for name, budget in QUICK.items():
        monkeypatch.setitem(BUDGETS, name, budget)


@pytest.fixture(scope="module")
def sub_goals(source, tmp_path_factory):
    """What metro asks for in two runs, and the file that keeps it."""
    folder = tmp_path_factory.mktemp("sub-goals")
    context = EvalConfig(
        "tworoom", source.corpus, source.model, source.latents.parent / "a.metro"
    )
    queries = QuerySet((Query(0, 0, 40), Query(3, 5, 45)), "two", "")
    with context.open() as opened:
        setting = Setting("metro", 1, 8, 20, 7)
        found = collect_sub_goals(opened, setting, queries, folder)
        again = collect_sub_goals(opened, setting, queries, folder)
    assert np.array_equal(found.latents, again.latents)
    return found, next(folder.glob("*.npz"))


def residuals(rows):
    return [(row["residual"], row["state"]) for row in rows]


def test_recorded_frames_have_a_residual_of_zero(source, tmp_path, monkeypatch):
    """This validates the search: the states exist, and it is not told them."""
    monkeypatch.setitem(BUDGETS, "small", Budget(1, 14, 128))
    targets = recorded_targets(load(source.latents), count=2, seed=0)
    rows = measure_residuals(source, targets, tmp_path / "rows.jsonl")
    for row in rows:
        assert row["residual"] < 0.01 * row["gaps"]["consecutive"]
        assert row["nearest"]["gap"] > row["residual"]
        assert row["own_frame"] == row["latent"]["frame"]


def test_own_episodes_are_left_out_of_the_starts(source):
    """A search that is handed the answer tests nothing."""
    lab, latents = SearchContext(source), load(source.latents)
    frames, gaps = lab.nearest(latents.z[100], 8)
    lab.close()
    episodes = latents.episode_of(frames)
    assert int(latents.episode_of(100)) not in episodes
    assert len(set(episodes.tolist())) == 8
    assert (np.diff(gaps) >= 0).all()


def test_workers_change_nothing_and_rows_are_resumed(source, quick, tmp_path):
    """Two processes find what one finds; a second call measures nothing."""
    targets = random_targets(load(source.latents), count=2, seed=0)
    budgets = ("small", "large")
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    rows = measure_residuals(source, targets, one, budgets=budgets)
    apart = measure_residuals(source, targets, two, budgets=budgets, workers=2)
    assert residuals(rows) == residuals(apart)
    for small, large in zip(rows[::2], rows[1::2], strict=True):
        assert (small["budget"], large["budget"]) == budgets
        assert 0 < large["residual"] <= small["residual"]
    one.write_text("".join(one.read_text().splitlines(keepends=True)[:2]) + '{"half')
    again = measure_residuals(source, targets, one, budgets=budgets)
    assert residuals(again) == residuals(rows)
    assert len(read_records(one)) == 4


def test_a_camera_that_fails_marks_its_row(source, quick, tmp_path, monkeypatch):
    """The run goes on with the next latent, in a new world."""
    draw, drawn = OpenAdapter.pictures, []

    def fail_once(self, states):
        drawn.append(len(states))
        if len(drawn) == 3:
            raise RuntimeError("the context was lost")
        return draw(self, states)

    monkeypatch.setattr(OpenAdapter, "pictures", fail_once)
    targets = recorded_targets(load(source.latents), count=2, seed=0)
    first, second = measure_residuals(source, targets, tmp_path / "rows.jsonl")
    assert first["residual"] is None
    assert first["error"] == "RuntimeError: the context was lost"
    assert second["error"] is None
    assert second["residual"] is not None


def test_sub_goals_are_kept_with_their_provenance(sub_goals):
    """Metro's are recorded frames, none is the goal itself, none comes twice."""
    found, path = sub_goals
    kept = load_sub_goals(path)
    assert np.array_equal(kept.latents, found.latents)
    assert kept.provenance["setting"]["method"] == "metro"
    assert kept.where.shape == (len(kept.latents), 4)
    targets = sub_goal_targets(kept, count=2, seed=0)
    more = sub_goal_targets(kept, count=3, seed=0)
    assert np.array_equal(more.z[:2], targets.z)


def test_metro_sub_goals_are_recorded_frames(source, sub_goals):
    """Every sub-goal is the latent of a frame of another episode."""
    found, _ = sub_goals
    latents = load(source.latents)
    for latent, (episode, *_) in zip(found.latents, found.where, strict=True):
        (frame, *_) = np.flatnonzero((latents.z == latent).all(axis=1))
        assert latents.episode_of(frame) != episode


def test_runs_are_planned_as_asked(source, tmp_path):
    """h and H of metro are those that evaluations are run with."""
    graph = source.latents.parent / "a.metro"
    context = EvalConfig("tworoom", source.corpus, source.model, graph)
    queries = tmp_path / "queries.csv"
    with open_corpus(source.corpus) as corpus:
        save_queries(
            QuerySet((Query(0, 0, 40),), "one", ""), queries, corpus=corpus.digest
        )
    asked = Asked("metro", 1, 0, 40, 1, tmp_path, 20, queries, 2, 6)
    found = find_targets(source, context, asked)
    setting = found.told["setting"]
    assert (setting["plan_blocks"], setting["waypoint_budget"]) == (2, 6)


def test_random_latents_have_the_corpus_moments(source):
    latents = load(source.latents)
    drawn = random_targets(latents, count=20_000, seed=0).z
    assert np.allclose(drawn.mean(axis=0), latents.z.mean(axis=0), atol=0.05)
    assert np.allclose(np.cov(drawn.T), np.cov(latents.z.T), atol=0.1)


def test_the_verb_measures_and_draws(source, quick, tmp_path):
    """Rows, a table, and a PNG with a column a latent."""
    picture, rows = tmp_path / "pictures" / "a.png", tmp_path / "rows.jsonl"
    command = ["residual", "tworoom", "--corpus", source.corpus, "--model"]
    command += [source.model, "--latents", str(source.latents), "--method", "random"]
    command += ["--count", "2", "-o", str(rows), "--pictures", str(picture), "--json"]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    (cell,) = json.loads(shown.stdout)
    assert (cell["method"], cell["num_latents"]) == ("random", 2)
    assert len(read_records(rows)) == 2
    with Image.open(picture) as drawn:
        assert drawn.size == (2 * (112 + 4), 2 * (112 + 26))


def test_pictures_of_nothing_are_refused(source, tmp_path):
    asked = Asked("random", 1)
    context = EvalConfig("tworoom", source.corpus, source.model)
    rows = [{"residual": None, "budget": "small"}]
    with pytest.raises(BenchmarkError, match="^No row has a state to draw: every"):
        draw_pictures(rows, source, context, asked, tmp_path / "a.png")


def test_states_outside_the_limits_are_refused(source, tmp_path):
    """A row that was changed by hand, or is of another world, is not drawn."""
    context = EvalConfig("tworoom", source.corpus, source.model)
    row = {"residual": 1.0, "budget": "small", "own_frame": 0, "state": [999.0, 50.0]}
    with pytest.raises(WorldError, match=r"^agent x must be [\d.]+ to [\d.]+, got 999"):
        draw_pictures([row], source, context, Asked("random", 1), tmp_path / "a.png")


def test_bad_input_is_told(source, tmp_path):
    context = EvalConfig("tworoom", source.corpus, source.model)
    message = "^method must be one of hi-lewm, hi-lewm-c, hi-lewm-c-staged, metro, "
    with pytest.raises(BenchmarkError, match=message):
        Asked("oracle", 5)
    with pytest.raises(BenchmarkError, match="^num_queries must be at least 1, got 0"):
        Asked("metro", 5, num_queries=0)
    with pytest.raises(ModelError, match="^method hi-lewm-c needs a macro model. "):
        find_targets(source, context, Asked("hi-lewm-c", 5))
    with pytest.raises(BenchmarkError, match="^method metro needs a graph: metro b"):
        find_targets(source, context, Asked("metro", 5))
    with pytest.raises(BenchmarkError, match="^count must be 1 to"):
        find_targets(source, context, Asked("recorded", 0))
    wrong = Targets("random", np.zeros((1, 3), np.float32), [{}], {})
    with pytest.raises(LatentsError, match="latents have 64 finite numbers, those of"):
        measure_residuals(source, wrong, tmp_path / "rows.jsonl")
    with pytest.raises(BenchmarkError, match="^workers must be at least 1, got 0"):
        measure_residuals(source, wrong, tmp_path / "rows.jsonl", workers=0)
    other = SearchConfig("tworoom", source.corpus, "pldm-small-tworoom", source.latents)
    with pytest.raises(LatentsError, match="^The latents were made from another mo"):
        SearchContext(other)
    broken = tmp_path / "broken.npz"
    broken.write_bytes(b"no")
    with pytest.raises(MetroError, match=re.escape(f"{broken} has no sub-goals")):
        load_sub_goals(broken)
    assert running._lab is None


@pytest.fixture(scope="module", params=["tworoom", "reacher", "pusht", "cube"])
def stage(request):
    """The states of every world, drawn as its small models see them."""
    rendering = "stock" if request.param == "tworoom" else "fast"
    opened = OpenAdapter(load_benchmark(request.param), 64, rendering)
    yield opened
    opened.close()


def test_what_is_admitted_can_exist(stage):
    """Random states are brought inside the limits, and stay as they are then."""
    space = stage.stage.space
    rng = np.random.default_rng(0)
    wide = (space.high - space.low) * 1.5
    drawn = space.low + wide * (rng.random((60, space.size)) - 0.2)
    states, possible = space.admit(drawn)
    assert possible.any()
    for state in states[possible]:
        space.require(state)


def test_pictures_depend_on_the_state_alone(stage):
    """Whatever was drawn before, the same state gives the same picture."""
    space = stage.stage.space
    rng = np.random.default_rng(1)
    states, possible = space.admit(rng.uniform(space.low, space.high, (40, space.size)))
    first, second = states[possible][:2]
    alone = stage.pictures(first[None])[0]
    pair = stage.pictures(np.stack([second, first]))
    assert np.array_equal(pair[1], alone)
    assert not np.array_equal(pair[0], alone)


def test_sizes_of_states_are_the_papers(stage):
    """PushT 5, Cube 11, TwoRoom 2, Reacher 2."""
    sizes = {"tworoom": 2, "reacher": 2, "pusht": 5, "cube": 11}
    assert stage.stage.space.size == sizes[type(stage.world).__name__.lower()]


def test_pusht_agent_is_moved_out_of_the_block():
    """From the middle of the bar, of the stem, and from where both meet."""
    block = np.array([256.0, 256.0, 0.7])
    cosine, sine = np.cos(0.7), np.sin(0.7)
    for x, y in ((0, 15), (0, 80), (0, 31), (14, 32), (40, 5)):
        turned = np.array([x * cosine - y * sine, x * sine + y * cosine])
        agent = block[:2] + turned
        state = np.concatenate([agent, block])[None]
        moved, possible = leave_each_other(state)
        assert possible[0]
        assert 1 < np.linalg.norm(moved[0, :2] - agent) < 60
        assert np.array_equal(moved[0, 2:], block)
        again, _ = leave_each_other(moved)
        assert np.allclose(again, moved)


def test_pusht_block_is_moved_out_of_the_walls():
    """A block in a corner lies between the walls afterwards."""
    moved, possible = leave_each_other(np.array([[400.0, 400.0, 0.0, 0.0, 0.0]]))
    assert possible[0]
    assert moved[0, 2:4].tolist() == [65.0, 5.0]
