"""Laws of one backward search: final where it is settled, resumed without a trace."""

import numpy as np
from corpora import random_case
from graph_makers import assert_same, frontier_of
from hypothesis import given, settings
from hypothesis import strategies as st

import metro
from metro.core.entry import entry_at, no_entries
from metro.core.landmarks import choose_landmarks
from metro.core.shortest_paths import (
    AT_GOAL,
    NO_ROUTE,
    Frontier,
    is_certain,
    no_bounds,
    search_backwards,
)

CASES = st.builds(random_case, st.integers(0, 10**6), lattice=st.booleans())


@settings(max_examples=40, deadline=None)
@given(CASES, st.data())
def test_a_resumed_search_is_the_whole_search(case, data):
    """Stopped for any frames in any order, then completed, J and succ are the same."""
    frames = st.integers(0, case.latents.num_frames - 1)
    stops = data.draw(st.lists(frames, min_size=1, max_size=4))
    landmarks = choose_landmarks(case.graph, 2) if data.draw(st.booleans()) else None
    routes = metro.find_routes(
        case.graph,
        case.goal,
        held_out=case.held_out,
        start=case.latents.z[stops[0]],
        landmarks=landmarks,
    )
    for frame in stops:
        routes = routes.until_certain(entry_at(frame))
        settled = np.isfinite(routes.cost_to_go)
        whole = case.routes.cost_to_go
        np.testing.assert_array_equal(routes.cost_to_go[settled], whole[settled])
    assert_same(routes.complete(), case.routes)


@settings(max_examples=30, deadline=None)
@given(CASES)
def test_a_recorded_frame_is_its_own_goal(case):
    """It costs nothing, even in the held-out episode, which stays closed otherwise."""
    last = case.latents.num_frames - 1
    found = search_backwards(
        case.graph, Frontier.of_frame(last), held_out=case.held_out
    )
    assert found.frontier is None
    assert found.cost_to_go[last] == 0
    assert found.successor[last] == AT_GOAL
    if case.held_out is not None:
        rows = np.arange(last + 1)[case.latents.rows_of(case.held_out)]
        others = rows[rows != last]
        assert (found.cost_to_go[others] == np.inf).all()
        assert (found.successor[others] == NO_ROUTE).all()


def test_an_earlier_search_is_not_changed(rooms_graph):
    """Resuming makes new arrays; what was found before stays as it was."""
    z = rooms_graph.latents.z
    early = metro.find_routes(rooms_graph, z[900], start=z[1000])
    before = early.cost_to_go.copy()
    early.complete()
    np.testing.assert_array_equal(early.cost_to_go, before)
    assert not early.cost_to_go.flags.writeable
    assert frontier_of(early).frames.size > 0


def test_the_cheapest_is_certain_when_no_other_can_be_cheaper():
    """Frames that are not settled cost at least what the search has reached."""
    prices, none = np.array([1.0, 2.0]), np.zeros(2)
    assert is_certain(np.array([3.0, 4.0]), prices, none, least=5.0)
    assert is_certain(np.array([3.0, np.inf]), prices, none, least=5.0)
    assert not is_certain(np.array([np.inf, 4.0]), prices, none, least=5.0)
    # An equal cost is no certainty: the lower frame must win the tie.
    assert not is_certain(np.array([3.0, np.inf]), prices, none, least=2.0 + 1e-10)


def test_nothing_known_is_no_bound():
    """Without landmarks frames are settled by J alone."""
    assert no_bounds().of(np.arange(5)).tolist() == [0, 0, 0, 0, 0]
    assert len(no_entries().frames) == len(no_entries().prices) == 0
