"""Poses of Reacher: the shoulder turns freely, the wrist has limits."""

import numpy as np
import pytest

from metro.benchmark import load_benchmark
from metro.envs.state_spaces import OpenAdapter


@pytest.fixture(scope="module")
def adapter():
    """States of Reacher, drawn with 64 pixels along a side."""
    opened = OpenAdapter(load_benchmark("reacher"), 64, "fast")
    yield opened
    opened.close()


class Recorded:
    """A corpus of these joint angles."""

    def __init__(self, angles):
        self._angles = np.array(angles, np.float32)

    def column(self, name):
        """Return the angles."""
        return {"qpos": self._angles}[name]


def test_a_shoulder_beyond_a_turn_is_read_inside_it(adapter):
    """Recorded shoulders are read modulo a turn, between -π and π."""
    read = adapter.stage.read(Recorded([[0.5 + 4 * np.pi, 0.1], [-4.0, 0.1]]))
    np.testing.assert_allclose(read[:, 0], [0.5, -4.0 + 2 * np.pi], atol=1e-5)


def test_a_wrist_beyond_its_limits_is_read_at_them(adapter):
    """Physics overshoots limits a little; what is read does not."""
    low, high = adapter.world.wrist_limits
    read = adapter.stage.read(Recorded([[0, low - 0.01], [0, high + 0.01]]))
    assert read[:, 1].tolist() == [low, high]


def test_the_short_way_of_the_shoulder_crosses_the_seam(adapter):
    """From just below π to just above -π is a small turn forward."""
    space = adapter.stage.space
    way = space.between(np.array([np.pi - 0.1, 0.0]), np.array([0.1 - np.pi, 0.5]))
    np.testing.assert_allclose(way, [0.2, 0.5])


def test_a_whole_turn_is_the_same_picture(adapter):
    """Both ends of the shoulder's range are drawn alike, and a half turn is not."""
    ends = adapter.pictures(np.array([[-np.pi, 0.3], [np.pi, 0.3], [0.0, 0.3]]))
    assert np.abs(ends[0].astype(int) - ends[1]).max() <= 1
    assert not np.array_equal(ends[0], ends[2])
