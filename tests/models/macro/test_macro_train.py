"""Macro models from a real recording: trained by the verb, planning in TwoRoom."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from macro_makers import make_macro
from typer.testing import CliRunner

from metro import load
from metro.benchmark import load_benchmark
from metro.cli import app
from metro.data.collect.record import record
from metro.data.corpus import open_corpus
from metro.data.encode import encode_corpus
from metro.envs import open_env
from metro.errors import LatentsError, ModelError
from metro.evaluation.rollout import Rollout, run_rollouts
from metro.models.loading import load_model
from metro.models.macro.macro_weights import load_macro
from metro.models.macro.training_cost import measure_offline
from metro.models.macro.windows import Trajectories, require_latents_of
from metro.planners.cem import CEMSettings
from metro.planners.hierarchical.budgets import (
    HierarchySettings,
    MacroSearch,
)
from metro.planners.hierarchical.hierarchy import prepare_hierarchy
from metro.planners.methods.hi_lewm import FREE
from metro.planners.methods.hi_lewm_c import BANKED
from metro.planners.methods.hi_lewm_c_staged import STAGED

MODEL = "lewm-small-tworoom"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Thirty recorded episodes, their latents, and a macro model of one epoch."""
    folder = tmp_path_factory.mktemp("macro")
    model = load_model(MODEL)
    record(
        load_benchmark("tworoom"),
        folder / "tworoom.h5",
        episodes=30,
        seed=5,
        image_size=model.image_size,
    )
    with open_corpus(folder / "tworoom.h5") as corpus:
        encode_corpus(corpus, model, folder / "tworoom.latents")
    given = ["--corpus", folder / "tworoom.h5", "--latents", folder / "tworoom.latents"]
    given += ["--model", MODEL, "-o", folder / "macro.safetensors", "--epochs", 1]
    given += ["--metro-seconds", 60, "--json"]
    arguments = ["train-macro", "tworoom", *map(str, given)]
    ran = CliRunner().invoke(app, arguments, catch_exceptions=False)
    (folder / "told.json").write_text(ran.stdout)
    return folder


@pytest.fixture(scope="module")
def parts(folder):
    """Corpus, world model, macro model."""
    with open_corpus(folder / "tworoom.h5") as corpus:
        yield corpus, load_model(MODEL), load_macro(folder / "macro.safetensors")


def make_settings(method, **changes):
    settings = HierarchySettings(
        method, 25, MacroSearch(2, 40, 3, 5), CEMSettings(2, 30, 5, 3), bank_size=200
    )
    return replace(settings, **changes)


def attempts_of(hierarchy, corpus, model, queries):
    """Return attempts at episodes' first 25 frames."""
    made = []
    for episode, seed in queries:
        frames, first = corpus.frames(episode), int(corpus.offsets[episode])
        world = open_env(
            load_benchmark("tworoom"),
            image_size=model.image_size,
            rendering=model.rendering,
        )
        world.reset(0)
        world.set_state(corpus.row(first))
        world.set_goal(corpus.row(first + 25))
        goal = model.encode(frames[25][None])[0]
        guide = hierarchy.make_selector(goal, seed=seed, episode=episode)
        made.append(Rollout(world, frames[0], guide, world.is_solved()))
    return made


def walk(hierarchy, corpus, model, queries):
    attempts = attempts_of(hierarchy, corpus, model, queries)
    actor = hierarchy.make_micro_planner([seed for _, seed in queries])
    run_rollouts(attempts, actor, step_budget=20, record=True)
    for attempt in attempts:
        attempt.env.close()
    return attempts


def test_the_verb_writes_model_card_and_figures(folder):
    """Errors beside copying, and the cost as steps, minutes and a ratio."""
    told = json.loads((folder / "told.json").read_text())
    assert {"windows", "rollout", "cost"} <= set(told)
    assert told["cost"]["steps"] >= 1
    assert told["cost"]["metro_minutes"] == 1.0
    assert told["cost"]["ratio"] == pytest.approx(told["cost"]["cpu_minutes"], abs=2e-3)
    card = (folder / "macro.md").read_text()
    assert card.startswith("# macro-lewm-small-tworoom\n")
    assert "AdamW 0.001 (published: 5e-05)" in card
    macro = load_macro(folder / "macro.safetensors")
    assert macro.encoder_digest == load_model(MODEL).digest
    assert macro.notes["origin"]["corpus"]["name"] == "tworoom.h5"


def test_pldm_has_macro_models_too(folder, parts):
    """Trained on its latents; bound to it; its sub-goals are latents of its size."""
    corpus, other, _ = parts
    model = load_model("pldm-small-tworoom")
    encode_corpus(corpus, model, folder / "pldm.latents")
    given = ["--corpus", folder / "tworoom.h5", "--latents", folder / "pldm.latents"]
    given += ["--model", "pldm-small-tworoom", "-o", folder / "pldm.safetensors"]
    arguments = ["train-macro", "tworoom", *map(str, given), "--epochs", "1"]
    CliRunner().invoke(app, arguments, catch_exceptions=False)
    macro = load_macro(folder / "pldm.safetensors")
    assert macro.name == "macro-pldm-small-tworoom"
    made = prepare_hierarchy(make_settings(BANKED), model, macro, corpus)
    start, goal = model.encode(corpus.frames(0)[[0, 25]])
    sub_goal, _ = made.make_selector(goal, seed=1, episode=0)(start, 0)
    assert sub_goal.shape == (model.latent_size,)
    with pytest.raises(ModelError, match="macro-pldm-small-tworoom"):
        prepare_hierarchy(make_settings(BANKED), other, macro, corpus)


def test_the_offline_cost_is_measured(folder, parts):
    """Encoding, table and graph all take some time."""
    corpus, model, _ = parts
    cost = measure_offline(corpus, model, load(folder / "tworoom.latents"))
    assert min(cost.encode, cost.table, cost.graph) > 0


@pytest.mark.parametrize("part", ["model", "corpus"])
def test_latents_of_something_else_are_told(folder, parts, part):
    """Latents must be of this model and this corpus."""
    corpus, model, _ = parts
    latents = load(folder / "tworoom.latents")
    require_latents_of(latents, corpus, model)
    strange = {**latents.provenance, part: {"digest": "f" * 64}}
    with pytest.raises(LatentsError, match=f"another {part}: ffffffffffff"):
        require_latents_of(replace(latents, provenance=strange), corpus, model)


def test_unknown_action_statistics_come_from_the_corpus(folder, parts):
    """A model that does not know its actions' mean and std takes the corpus'."""
    corpus, _, _ = parts
    model = load_model(MODEL)
    model.action_stats = None
    made = Trajectories.of(load(folder / "tworoom.latents"), corpus, model)
    recorded = ~np.isnan(corpus.column("action")).any(axis=1)
    np.testing.assert_allclose(made.actions[recorded].mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(made.actions[recorded].std(axis=0), 1, atol=1e-4)
    assert (made.actions[~recorded] == 0).all()


@pytest.mark.parametrize("method", [FREE, BANKED, STAGED])
def test_methods_plan_in_the_world_whatever_the_company(parts, method):
    """Every method runs the closed loop; alone or in a batch it acts the same."""
    corpus, model, macro = parts
    hierarchy = prepare_hierarchy(make_settings(method), model, macro, corpus)
    together = walk(hierarchy, corpus, model, [(0, 7), (1, 8)])
    alone = walk(hierarchy, corpus, model, [(1, 8)])[0]
    kinds = set(together[1].kinds)
    assert kinds <= ({"stage 1", "stage 2"} if method.is_staged else {"macro"})
    assert together[1].kinds == alone.kinds
    for ours, theirs in zip(together[1].path, alone.path, strict=True):
        for name, value in ours.items():
            np.testing.assert_allclose(value, theirs[name], atol=1e-3)


def test_options_reach_the_search(parts):
    """The box and the bank without an episode are there only if asked for."""
    corpus, model, macro = parts
    plain = prepare_hierarchy(make_settings(FREE), model, macro, corpus)
    assert plain.box is None
    assert plain.bank is None
    boxed = make_settings(FREE, clip_to_box=True)
    assert prepare_hierarchy(boxed, model, macro, corpus).box.shape == (2, 32)
    settings = make_settings(BANKED, leave_one_out=True)
    kept = prepare_hierarchy(settings, model, macro, corpus)
    assert kept.settings.leave_one_out
    solver = kept._solver(3)
    assert 3 in kept.bank.episodes
    assert 3 not in solver._bank.episodes


def test_what_is_missing_is_told(parts):
    """No macro model, another encoder's, too small a corpus: errors, not defaults."""
    corpus, model, macro = parts
    settings = make_settings(BANKED)
    message = (
        "method hi-lewm-c needs a macro model. Train one: metro train-macro BENCHMARK."
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        prepare_hierarchy(settings, model, None, corpus)
    with pytest.raises(ModelError, match=r"^macro-tworoom predicts latents of 8"):
        prepare_hierarchy(settings, model, make_macro(), corpus)
    large = replace(settings, bank_size=65_536)
    with pytest.raises(ModelError, match=r"^65536 sequences of 50 actions were asked"):
        prepare_hierarchy(large, model, macro, corpus)
