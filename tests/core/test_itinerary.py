"""Journeys: legs join up, and add up to the cost-to-go."""

from itertools import pairwise

import numpy as np
import pytest
from corpora import random_case

import metro
from metro.core.itinerary import SegmentKind, plan_journey


@pytest.mark.parametrize("seed", range(150))
def test_legs_join_and_add_up(seed):
    """From every frame, held out or not, the legs cost what the route costs."""
    case = random_case(seed, lattice=seed % 2 == 0)
    routes = case.routes
    planner = metro.MetroPlanner(routes)
    for frame in range(case.latents.num_frames):
        legs = plan_journey(routes, frame)
        if int(case.latents.episode_of(frame)) == case.held_out:
            expected = planner(case.latents.z[frame]).cost_to_go
            kinds = (SegmentKind.ENTER,)
        else:
            expected = routes.cost_to_go[frame]
            kinds = (SegmentKind.RIDE, SegmentKind.BRIDGE, SegmentKind.ARRIVE)
        if np.isinf(expected):
            assert legs == []
            continue
        assert legs[0].kind in kinds
        assert legs[-1].kind is SegmentKind.ARRIVE
        assert legs[-1].total == pytest.approx(expected)
        for leg, following in pairwise(legs):
            assert leg.stop == following.start
            assert following.total == pytest.approx(leg.total + following.cost)
            assert (leg.kind, following.kind) != (SegmentKind.RIDE, SegmentKind.RIDE)
