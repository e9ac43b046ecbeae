"""Laws of `metro.envs.pusht_geometry`."""

import numpy as np

from metro.envs.pusht_geometry import (
    AGENT_RADIUS,
    depth_in_block,
    distance_to_block,
    to_block,
    to_window,
)

POINTS = np.random.default_rng(0).uniform(0, 512, (9, 2))
POSE = np.array([200.0, 150.0, 2.3])


def test_the_two_frames_undo_each_other():
    """`to_block` takes back what `to_window` did."""
    assert np.allclose(to_block(to_window(POINTS, POSE), POSE), POINTS)


def test_one_pose_per_point_is_the_same_as_one_pose_for_all():
    """Up to rounding."""
    poses = np.tile(POSE, (9, 1))
    assert np.allclose(to_window(POINTS, poses), to_window(POINTS, POSE))
    assert np.allclose(to_block(POINTS, poses), to_block(POINTS, POSE))


def test_depth_and_distance_agree_outside():
    """A disc is as deep in the T as its radius exceeds the distance of its centre."""
    distance = distance_to_block(POINTS, POSE)
    depth = depth_in_block(to_block(POINTS, POSE))
    outside = distance > 0
    assert outside.any()
    assert np.allclose(depth[outside], AGENT_RADIUS - distance[outside])
