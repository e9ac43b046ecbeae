"""Fixtures that several test files use."""

import pytest

from metro import PricingCurve, build_graph, find_neighbours
from metro.synthetic import make_latents


@pytest.fixture(scope="session")
def rooms():
    """Latents of 30 synthetic episodes through two rooms."""
    return make_latents(30 * 60, state_dim=2, episode_length=60, dim=24, seed=3)


@pytest.fixture(scope="session")
def rooms_graph(rooms):
    """Their graph, with H = 8."""
    return build_graph(rooms, find_neighbours(rooms), PricingCurve.fit(rooms, 8))
