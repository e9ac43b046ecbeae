"""What queries are planned with: parts that must belong together."""

import numpy as np
import pytest
from bench_makers import METRO

from metro import PricingCurve, build_graph, find_neighbours
from metro.errors import LatentsError
from metro.evaluation.context import EvalContext
from metro.evaluation.queries import (
    Query,
)
from metro.evaluation.run import evaluate


def test_another_budget_keeps_the_quantile_of_the_graph(context):
    """H is the only thing that a sweep changes."""
    latents = context.graph.latents
    pricing = PricingCurve.fit(latents, 8, quantile=0.9)
    graph = build_graph(latents, context.graph.table, pricing)
    other = EvalContext(context.benchmark, context.corpus, context.model, graph)
    assert other.graph_for(6).pricing.quantile == 0.9


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
