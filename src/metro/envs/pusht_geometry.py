"""PushT's disc and T in the plane: sizes, frames of reference, distances.

The window is 512 units wide, y pointing down. The T's own frame has its origin in the
middle of the upper edge of its bar and turns with it.
"""

import math

import numpy as np
from numpy.typing import NDArray

WINDOW = 512
"""Width and height of the window, in its own units."""

AGENT_RADIUS = 15.0
"""Radius of the pushing disc."""

BAR = (-60.0, 0.0, 60.0, 30.0)
"""The T's bar in its own frame: left, top, right, bottom."""

STEM = (-15.0, 30.0, 15.0, 120.0)
"""The T's stem in its own frame: left, top, right, bottom."""

Points = NDArray[np.float64]
"""``[P, 2]`` or ``[2]``, in window units or in the T's own frame."""


def to_window(points: Points, pose: Points) -> Points:
    """Return points of the T's own frame in window units.

    Args:
        points: ``[P, 2]``.
        pose: ``[3]`` x, y and angle of the T (rad), or ``[P, 3]`` one per point.
    """
    if pose.ndim == 1:
        # One matrix product: recordings depend on its rounding.
        cosine, sine = math.cos(pose[2]), math.sin(pose[2])
        turned: Points = points @ np.array([[cosine, sine], [-sine, cosine]])
        return turned + pose[:2]
    (x, y), cosines, sines = points.T, np.cos(pose[:, 2]), np.sin(pose[:, 2])
    turned = np.stack([x * cosines - y * sines, x * sines + y * cosines], axis=1)
    return np.asarray(turned + pose[:, :2])


def to_block(points: Points, pose: Points) -> Points:
    """Return window points in the T's own frame: undoes `to_window`."""
    if pose.ndim == 1:
        cosine, sine = math.cos(pose[2]), math.sin(pose[2])
        back = np.array([[cosine, -sine], [sine, cosine]])
        turned: Points = (points - pose[:2]) @ back
        return turned
    (x, y), cosines, sines = (
        (points - pose[:, :2]).T,
        np.cos(pose[:, 2]),
        np.sin(pose[:, 2]),
    )
    return np.stack([x * cosines + y * sines, y * cosines - x * sines], axis=1)


def distance_to_block(points: Points, pose: Points) -> Points:
    """Return how far window points ``[P, 2]`` are from the T at ``pose``; 0 inside."""
    local = to_block(points, pose)
    distances = []
    for box in (BAR, STEM):
        low, high = np.array(box[:2]), np.array(box[2:])
        beyond = np.maximum(np.maximum(low - local, local - high), 0)
        distances.append(np.hypot(beyond[:, 0], beyond[:, 1]))
    nearest: Points = np.minimum(*distances)
    return nearest


def depth_in_block(local: Points) -> Points:
    """Return how deep the disc is in the T, ``[P]``; negative where it is outside.

    Args:
        local: ``[P, 2]`` centres of the disc in the T's own frame.
    """
    bar, stem = (_depth_in(local, box) for box in (BAR, STEM))
    return np.maximum(bar, stem)


def _depth_in(local: Points, box: tuple[float, float, float, float]) -> Points:
    left, top, right, bottom = box
    middle = np.array([left + right, top + bottom]) / 2
    beyond = np.abs(local - middle) - np.array([right - left, bottom - top]) / 2
    outside = np.linalg.norm(np.maximum(beyond, 0), axis=1)
    depth: Points = AGENT_RADIUS - outside - np.minimum(beyond.max(axis=1), 0)
    return depth
