"""Saturation: how soon gaps inside an episode look like gaps to another one."""

import numpy as np
import pytest

import metro
from metro.core.gap_saturation import measure_saturation


def test_saturation_rises_to_one(rooms):
    """Near frames are near; far ones look like frames of another episode."""
    curve = measure_saturation(rooms)
    assert [point.distance for point in curve] == [1, 2, 5, 10, 15, 25, 50]
    medians = [point.median for point in curve]
    assert medians[0] < 0.3
    assert 0.8 < medians[-1] < 1.2
    assert all(point.lower <= point.median <= point.upper for point in curve)


def test_saturation_of_a_line_is_exact():
    """On x = 0, 1, 2, ... the gap at d is d."""
    line = np.arange(30.0)[:, None]
    latents = metro.Latents.from_episodes([line, line + 100])
    near, far = measure_saturation(latents, [1, 20])
    assert far.median == pytest.approx(20 * near.median)


def test_identical_frames_have_no_scale():
    """A collapsed encoder: nothing to divide by, nothing reported."""
    latents = metro.Latents(np.ones((10, 3)), [0, 5, 10])
    assert measure_saturation(latents) == []


def test_one_episode_has_nothing_to_compare_with():
    """Without another episode nothing is measured."""
    latents = metro.Latents.from_episodes([[[0.0], [1.0]]])
    assert measure_saturation(latents) == []
