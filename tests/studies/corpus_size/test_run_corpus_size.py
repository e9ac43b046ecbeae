"""Graphs of fewer episodes, planned in the real TwoRoom."""

from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metro import PricingCurve, build_graph, find_neighbours, load, save
from metro.errors import BenchmarkError
from metro.evaluation.context import EvalConfig
from metro.evaluation.queries import Query, load_queries
from metro.evaluation.records import Setting, read_records
from metro.evaluation.run import evaluate
from metro.studies.corpus_size.run_corpus_size import (
    SubsetConfig,
    choose_episodes,
    run,
    subset_graph,
)
from metro.studies.planning import PlanningConfig
from study_makers import MODEL, planning, refused, study


def source(folder, **changed):
    parts = (folder / "tworoom.metro",)
    return SubsetConfig("tworoom", str(folder / "tworoom.h5"), MODEL, *parts, **changed)


def outcomes(rows):
    return [(row["frames_to_success"], row["kinds"]) for row in rows]


@given(
    st.integers(200, 3_000), st.integers(0, 9), st.lists(st.floats(1, 100), min_size=2)
)
def test_a_smaller_share_is_contained_in_a_larger_one(number, seed, shares):
    """Nested, each episode once, of the size asked for, the same every time."""
    parts = [choose_episodes(number, share, seed) for share in sorted(shares)]
    for small, large in pairwise(parts):
        assert set(small) <= set(large)
    for share, part in zip(sorted(shares), parts, strict=True):
        assert len(set(part)) == len(part) == round(number * share / 100)
        np.testing.assert_array_equal(part, choose_episodes(number, share, seed))
    assert list(choose_episodes(number, 100, seed)) == list(range(number))


def test_seeds_choose_other_episodes():
    """A share is a random one, not the first episodes."""
    one, other = (choose_episodes(1_000, 10, seed) for seed in (0, 1))
    assert list(one) != list(other)
    assert list(one) != list(range(100))


@pytest.mark.parametrize("share", [0, -1, 100.5, float("nan")])
def test_shares_are_percent(share):
    """More than nothing, at most everything."""
    told = f"A share must be in (0, 100] percent, got {share:g}."
    refused(told, choose_episodes, 100, share, 0)


def test_one_episode_is_too_few():
    """The query's own may be the only one, and nothing would be left."""
    told = (
        "1 % of 100 episodes is 1; a graph needs at least 2, because the query's own "
        "is held out. Use a larger share or corpus."
    )
    refused(told, choose_episodes, 100, 1, 0)


def test_a_part_is_a_graph_of_its_own_episodes(folder):
    """Pricing, neighbours and bridges are those of the subset, encoded alone."""
    whole = load(folder / "tworoom.metro")
    episodes = choose_episodes(12, 50, 0)
    part = subset_graph(whole, episodes)
    latents = whole.latents.subset(list(episodes))
    alone = build_graph(latents, find_neighbours(latents), PricingCurve.fit(latents, 8))
    np.testing.assert_array_equal(part.pricing.gaps, alone.pricing.gaps)
    np.testing.assert_array_equal(part.bridge_frame, alone.bridge_frame)
    assert subset_graph(whole, np.arange(12)) is whole


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


def test_corpus_size_runs_and_resumes(folder, tmp_path):
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
    """100 % gives what metro evaluate gives, and takes over its rows."""
    plain = EvalConfig(
        "tworoom", str(folder / "tworoom.h5"), MODEL, folder / "tworoom.metro"
    )
    asked = load_queries(folder / "q.csv")
    setting = Setting("metro", 1, 8, 15, 7)
    evaluated = tmp_path / "evaluated.jsonl"
    whole = evaluate(plain, [setting], asked, evaluated, batch=2)
    reports = []

    @contextmanager
    def bar(title):
        yield lambda *counts: reports.append(counts[:2])

    def planned(name, **changed):
        plan = PlanningConfig(
            plain, tmp_path / name, goal_distance=15, step_budget=15,
            queries=folder / "q.csv", batch=2, **changed,
        )  # fmt: skip
        return run(plan, bar, shares=[100])

    assert outcomes(planned("a.jsonl")) == outcomes(whole)
    reports.clear()
    share = {"share": 100, "subset_seed": 0, "episodes_used": 12}
    adopted = planned("b.jsonl", known=[evaluated])
    assert adopted == [row | share for row in whole]
    assert reports == [(4, 4)]


def test_bad_shares_cost_nothing(folder, tmp_path):
    """All shares are looked at before the first query is planned."""
    output = tmp_path / "corpus-size.jsonl"
    for share, told in ((1, "1 % of 12 episodes is 0"), (101, "A share must be in")):
        options = [*planning(folder), "--share", 100, "--share", share]
        failed = study("corpus-size", folder, output, *options)
        assert isinstance(failed.exception, BenchmarkError)
        assert str(failed.exception).startswith(told)
    failed = study("corpus-size", folder, output, *planning(folder), "--first", 9)
    assert "has 4 queries, so that the first 9 cannot be taken" in str(failed.exception)
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
    assert str(failed.exception).startswith("The latents were made from another corpus")
