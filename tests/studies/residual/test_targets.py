"""Which latents are measured: runs as configured, and two controls."""

from dataclasses import replace

import numpy as np
import pytest

from metro.data.corpus import open_corpus
from metro.errors import BenchmarkError, ModelError
from metro.evaluation.queries import Query, QuerySet, save_queries
from metro.storage.artefacts import load
from metro.studies.residual.targets import TargetConfig, find_targets, random_targets


def test_runs_are_planned_as_configured(searched, evaluated, tmp_path):
    """h and H of metro are those that evaluations are run with."""
    queries = tmp_path / "queries.csv"
    with open_corpus(evaluated.corpus) as corpus:
        one = QuerySet((Query(0, 0, 40),), "one", "")
        save_queries(one, queries, corpus=corpus.digest)
    config = TargetConfig(
        "metro", 1, goal_distance=40, num_queries=1, folder=tmp_path, step_budget=20,
        queries=queries, plan_blocks=2, waypoint_budget=6,
    )  # fmt: skip
    found = find_targets(evaluated, searched.latents, config)
    setting = found.metadata["setting"]
    assert (setting["plan_blocks"], setting["waypoint_budget"]) == (2, 6)


def test_random_latents_have_the_corpus_moments(searched):
    """Mean and covariance, up to sampling noise."""
    latents = load(searched.latents)
    drawn = random_targets(latents, count=20_000, seed=0).z
    assert np.allclose(drawn.mean(axis=0), latents.z.mean(axis=0), atol=0.05)
    assert np.allclose(np.cov(drawn.T), np.cov(latents.z.T), atol=0.1)


def test_what_is_missing_is_named(searched, evaluated):
    """A method that does not exist, a macro model, a graph, too few latents."""
    bare = replace(evaluated, graph=None)
    message = "^method must be one of hi-lewm, hi-lewm-c, hi-lewm-c-staged, metro, "
    with pytest.raises(BenchmarkError, match=message):
        TargetConfig("oracle", 5)
    with pytest.raises(BenchmarkError, match="^num_queries must be at least 1, got 0"):
        TargetConfig("metro", 5, num_queries=0)
    with pytest.raises(ModelError, match="^method hi-lewm-c needs a macro model. "):
        find_targets(bare, searched.latents, TargetConfig("hi-lewm-c", 5))
    with pytest.raises(BenchmarkError, match="^method metro needs a graph: metro b"):
        find_targets(bare, searched.latents, TargetConfig("metro", 5))
    with pytest.raises(BenchmarkError, match="^count must be 1 to"):
        find_targets(bare, searched.latents, TargetConfig("recorded", 0))
