"""The CEM of every query draws its own numbers."""

import numpy as np
import pytest
from bench_makers import FLAT

from metro.evaluation.queries import sample_queries
from metro.models.loading import load_model
from metro.planners.cem import CEMSettings
from metro.planners.micro import CEMPlanner


@pytest.mark.parametrize("name", ["lewm-small-tworoom", "pldm-small-tworoom"])
def test_first_plans_do_not_depend_on_company(context, name):
    """Equal to float32 rounding: matrix products of more rows may add otherwise."""
    model = load_model(name)
    queries = sample_queries(context.corpus.lengths, goal_distance=15, count=4, seed=1)
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
