"""One graph serves every H; routes are searched once a query and H."""

import numpy as np
import pytest

from metro import PricingCurve, build_graph, find_routes
from metro.evaluation.route_cache import QueryRoutes


@pytest.fixture
def cache(rooms_graph):
    return QueryRoutes(rooms_graph)


@pytest.fixture
def ends(rooms):
    """Latents of a start and a goal."""
    return rooms.z[70], rooms.z[400]


def test_the_graph_itself_serves_its_own_budget(cache, rooms_graph):
    """The H that the graph was made with is not priced again."""
    assert cache.priced(8) is rooms_graph


def test_the_same_budget_is_priced_once(cache):
    """Asked again for another H than the graph's, the same graph comes back."""
    assert cache.priced(5) is cache.priced(5)


def test_another_budget_is_the_graph_built_for_it(cache, rooms, rooms_graph):
    """Repriced edges are those of a graph built from scratch for that H."""
    expected = build_graph(rooms, rooms_graph.table, PricingCurve.fit(rooms, 5))
    found = cache.priced(5)
    assert found.waypoint_budget == 5
    np.testing.assert_array_equal(found.pricing.gaps, expected.pricing.gaps)
    goal = rooms.z[400]
    np.testing.assert_array_equal(
        find_routes(found, goal).cost_to_go, find_routes(expected, goal).cost_to_go
    )


def test_the_quantile_is_kept(rooms, rooms_graph):
    """A graph priced by another quantile is repriced by that one."""
    pricing = PricingCurve.fit(rooms, 8, quantile=0.75)
    cache = QueryRoutes(build_graph(rooms, rooms_graph.table, pricing))
    found = cache.priced(5).pricing
    assert found.quantile == 0.75
    expected = PricingCurve.fit(rooms, 5, quantile=0.75)
    np.testing.assert_array_equal(found.gaps, expected.gaps)
    assert not np.array_equal(found.gaps, PricingCurve.fit(rooms, 5).gaps)


def test_a_query_is_searched_once(cache, ends):
    """The same key has the same routes and the same seconds."""
    first, again = (cache.routes(8, "query", ends, 1) for _ in range(2))
    assert first[0] is again[0]
    assert first[1] == again[1] > 0


def test_another_query_is_another_search(cache, rooms, ends):
    """Another key has the complete costs of a search for its own goal."""
    cache.routes(8, "one", ends, None)
    other, _ = cache.routes(8, "other", (ends[0], rooms.z[900]), None)
    expected = find_routes(cache.priced(8), rooms.z[900])
    np.testing.assert_array_equal(other.complete().cost_to_go, expected.cost_to_go)


def test_the_held_out_episode_is_left_out(cache, ends):
    """No frame of the held-out episode has a route."""
    found = cache.routes(8, "query", ends, 1)[0].complete()
    episodes = map(found.graph.latents.episode_of, range(len(found.cost_to_go)))
    is_own = np.array([episode == 1 for episode in episodes])
    assert np.isinf(found.cost_to_go[is_own]).all()
    assert np.isfinite(found.cost_to_go[~is_own]).any()


def test_another_budget_drops_the_routes(cache, ends):
    """Routes are of the present H, also when an earlier H comes back."""
    first, _ = cache.routes(8, "query", ends, 1)
    narrow, _ = cache.routes(5, "query", ends, 1)
    again, _ = cache.routes(8, "query", ends, 1)
    budgets = [routes.graph.waypoint_budget for routes in (first, narrow, again)]
    assert budgets == [8, 5, 8]
    assert again is not first


def test_forgotten_routes_are_searched_again(cache, ends):
    """After forgetting, the same key has new routes with the same costs."""
    first, _ = cache.routes(8, "query", ends, 1)
    cache.forget_routes()
    again, _ = cache.routes(8, "query", ends, 1)
    assert again is not first
    np.testing.assert_array_equal(again.cost_to_go, first.cost_to_go)


def test_forgetting_routes_keeps_the_priced_graph(cache, ends):
    """The graph is not priced again for routes that were forgotten."""
    before = cache.routes(5, "query", ends, 1)[0].graph
    cache.forget_routes()
    assert cache.routes(5, "query", ends, 1)[0].graph is before
