"""Keyframes of a made-up route: which frames, what they cost, and what is said."""

import numpy as np
import pytest

from metro import Latents
from metro.core.itinerary import Segment, SegmentKind
from metro.errors import GraphError
from metro.report.drawing.keyframes import choose_keyframes, make_storyboard

LATENTS = Latents(np.zeros((30, 2), np.float32), np.array([0, 10, 20, 30]))
ENDS = (1, 25)
ROUTE = [
    Segment(SegmentKind.TEMPORAL, 0, 1, 8, 7, 0.0, 7.0, 7.0),
    Segment(SegmentKind.BRIDGE, 1, 8, 12, 0, 0.5, 2.5, 9.5),
    Segment(SegmentKind.TEMPORAL, 1, 12, 14, 2, 0.0, 2.0, 11.5),
    Segment(SegmentKind.ARRIVE, None, 14, None, 0, 0.2, 1.0, 12.5),
]


def chosen(every=3):
    """Return the keyframes of the route."""
    return choose_keyframes(LATENTS, ROUTE, ENDS, every=every)


def test_long_segments_are_shown_at_intervals():
    """Every third frame of a ride is shown, and the ends of all segments."""
    assert [one.frame for one in chosen()] == [1, 4, 7, 8, 12, 14, 25]


def test_what_is_paid_and_what_is_left_add_up():
    """At every keyframe the frames paid and the frames to go are the whole route."""
    assert [one.paid for one in chosen()] == [0, 3, 6, 7, 9.5, 11.5, 12.5]
    assert {one.paid + one.to_go for one in chosen()} == {12.5}


def test_prices_are_differences():
    """The price of a keyframe is what was paid since the one before."""
    assert [one.price for one in chosen(100)] == [0, 7, 2.5, 2, 1]


def test_bridge_ends_are_marked():
    """The two frames of the bridge are marked, and no other."""
    assert [one.frame for one in chosen() if one.is_bridge_end] == [8, 12]


def test_the_storyboard_says_what_the_route_is_made_of():
    """Title and summary have the ends, the parts of the cost, and the episodes."""
    board = make_storyboard(LATENTS, ROUTE, ENDS, every=3)
    assert board.title == "From frame 1 (episode 0) to frame 25 (episode 2)"
    assert board.summary == (
        "The cheapest route costs 12.5 frames: 9 along recordings, 2.5 for bridges "
        "(1), the rest for arriving. Episodes passed through: 2."
    )


def test_each_episode_has_one_colour():
    """Three episodes on the route have three colours, in the order of the route."""
    colours = make_storyboard(LATENTS, ROUTE, ENDS, every=3).colours
    assert list(colours) == [0, 1, 2]
    assert len(set(colours.values())) == 3


def test_no_route_cannot_be_drawn():
    """Without segments the error names both frames."""
    with pytest.raises(GraphError) as told:
        choose_keyframes(LATENTS, [], ENDS, every=3)
    assert str(told.value) == (
        "There is no route from frame 1 to frame 25, so there is nothing to draw. "
        "Choose other frames."
    )


def test_an_interval_of_nothing_is_refused():
    """Keyframes are at least one frame apart."""
    with pytest.raises(GraphError, match=r"^every must be at least 1, got 0\.$"):
        chosen(0)
