"""Recorded actions along a route."""

import numpy as np

from metro import find_neighbours
from metro.core.latents import Latents
from metro.models.action_stats import ActionStats
from metro.planners.proposals import RecordedActions


def recorded():
    z = np.arange(20, dtype=np.float32).reshape(10, 2)
    actions = np.arange(10, dtype=np.float32)[:, None]
    actions[[4, 9]] = np.nan
    return RecordedActions(Latents(z, [0, 5, 10]), actions)


def test_bridges_are_skipped_and_the_last_episode_is_followed_on():
    """Frames 1, 2, then a bridge to 7: the actions of 1, 7 and 8."""
    found = recorded().along([1, 2, 7], 3)
    assert found.ravel().tolist() == [1.0, 7.0, 8.0]


def test_nothing_is_known_after_the_end_of_an_episode():
    """The last frame has no action, and beyond it there is nothing."""
    found = recorded().along([8], 4).ravel()
    assert found[0] == 8.0
    assert np.isnan(found[1:]).all()


def test_without_a_path_nothing_is_proposed():
    """No route, no actions."""
    assert np.isnan(recorded().along([], 2)).all()


def test_the_spread_is_what_a_frame_leaves_open():
    """Neighbours with equal actions leave nothing open, random ones everything."""
    rng = np.random.default_rng(0)
    half = rng.normal(size=(200, 3)).astype(np.float32)
    latents = Latents(np.concatenate([half, half + 1e-3]), [0, 200, 400])
    table = find_neighbours(latents, 1)
    stats = ActionStats(np.zeros(2), np.ones(2))
    decided = rng.normal(size=(200, 1)).astype(np.float32)
    actions = np.concatenate([np.tile(decided, (2, 1)), rng.normal(size=(400, 1))], 1)
    spread = RecordedActions(latents, actions).spread(table, stats)
    assert spread[0] < 0.01
    assert 0.9 < spread[1] <= 1.0
