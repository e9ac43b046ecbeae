"""Batches of queries in the real TwoRoom, with the shipped model."""

from dataclasses import replace

import pytest
from bench_makers import FLAT, METRO, outcomes

from metro.errors import MetroError
from metro.evaluation.queries import (
    load_queries,
    sample_queries,
    save_queries,
)
from metro.evaluation.records import Setting
from metro.evaluation.run import evaluate


@pytest.mark.parametrize("setting", [FLAT, METRO], ids=["flat", "metro"])
def test_batched_equals_sequential(context, queries, setting, tmp_path):
    """Every query has its own random numbers: company and order change nothing."""
    together = evaluate(context, setting, queries, tmp_path / "a.jsonl", batch=4)
    alone = evaluate(context, setting, queries[::-1], tmp_path / "b.jsonl", batch=1)
    assert outcomes(together) == outcomes(alone[::-1])
    assert any(row["frames_to_success"] for row in together)


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
