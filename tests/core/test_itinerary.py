"""Paths: segments join up, and add up to the cost-to-go."""

from itertools import pairwise

import numpy as np
import pytest
from corpora import random_case

import metro
from metro.core.itinerary import SegmentKind, path_segments


@pytest.mark.parametrize("seed", range(150))
def test_segments_join_and_add_up(seed):
    """From every frame, held out or not, the segments cost what the route costs."""
    case = random_case(seed, lattice=seed % 2 == 0)
    routes = case.routes
    planner = metro.MetroPlanner(routes)
    for frame in range(case.latents.num_frames):
        segments = path_segments(routes, frame)
        if int(case.latents.episode_of(frame)) == case.held_out:
            expected = planner(case.latents.z[frame]).cost_to_go
            kinds = (SegmentKind.ENTER,)
        else:
            expected = routes.cost_to_go[frame]
            kinds = (SegmentKind.TEMPORAL, SegmentKind.BRIDGE, SegmentKind.ARRIVE)
        if np.isinf(expected):
            assert segments == []
            continue
        assert segments[0].kind in kinds
        assert segments[-1].kind is SegmentKind.ARRIVE
        assert segments[-1].total == pytest.approx(expected)
        for segment, following in pairwise(segments):
            assert segment.stop == following.start
            assert following.total == pytest.approx(segment.total + following.cost)
            assert {segment.kind, following.kind} != {SegmentKind.TEMPORAL}


def test_the_json_of_a_segment_keeps_its_words(rooms_graph):
    """Scripts that read ``metro route --json`` find the same kinds as before."""
    routes = metro.find_routes(rooms_graph, rooms_graph.latents.z[900])
    kinds = {segment.to_json()["kind"] for segment in path_segments(routes, 5)}
    assert kinds <= {"enter", "ride", "bridge", "arrive"}
    assert {"ride", "arrive"} <= kinds
