"""Where an observation enters: the k nearest, within the radius, or the one nearest."""

import numpy as np
import oracles
from corpora import random_case
from hypothesis import given, settings
from hypothesis import strategies as st

from metro.core.entry import entry_at, find_entries

CASES = st.builds(random_case, st.integers(0, 10**6), lattice=st.booleans())


@settings(max_examples=60, deadline=None)
@given(CASES)
def test_entries_are_the_nearest_frames_within_the_radius(case):
    """Or the single nearest if none is within it; the held-out episode is never one."""
    (entries,) = find_entries(case.graph, [case.observed], held_out=case.held_out)
    near = oracles.nearest(
        case.oracle, case.observed.tolist(), case.num_neighbours, case.held_out
    )
    curve = case.pricing.gaps.tolist()
    # The radius is a gap itself: the slow version may round it a bit lower.
    radius = curve[-1] * (1 + 1e-12)
    inside = [link for link in near if link[0] <= radius] or near[:1]
    assert entries.candidates.tolist() == [frame for _, frame in near]
    assert entries.frames.tolist() == [frame for _, frame in inside]
    np.testing.assert_allclose(
        entries.prices, [oracles.price(curve, gap) for gap, _ in inside], rtol=1e-12
    )


def test_no_observation_has_no_entries(rooms_graph):
    """An empty batch is answered without asking the index."""
    assert find_entries(rooms_graph, [], held_out=None) == []


def test_a_recorded_frame_enters_at_itself():
    """For free, whatever the radius."""
    entries = entry_at(7)
    assert (entries.frames.tolist(), entries.prices.tolist()) == ([7], [0.0])
