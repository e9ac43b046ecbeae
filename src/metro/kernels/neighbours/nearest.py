"""The frames nearest to a goal or an observation, by the cells of the table."""

import numpy as np

from metro.kernels.compiled import compiled
from metro.kernels.neighbours.primitives import (
    NUM_AXES,
    box_gap,
    exact_gap,
    f32,
    frame_bounds,
    keep,
    lowest,
    pick,
    project,
    rest_range,
    squared_gap,
)

_FIRST_VISITS = 16
"""Cells whose bound is lowest, visited before the others are gone through."""

_UP = f32(1.000002)


@compiled(cached=True)
def nearest_in_cells(single, exact, z, cells, episode, margin, excluded, frame, gap):
    """Fill the k nearest frames of every query.

    Args:
        single: ``[Q, W]`` the queries in float32, for bounds.
        exact: ``[Q, W]`` the queries as they were given, for gaps.
        z: ``[N, W]`` all frames, in their own order.
        cells: The index.
        episode: ``[N]`` episode of every frame.
        margin: Proven margins of float32 arithmetic.
        excluded: ``[Q]`` episode that each query must not use, or -1.
        frame: ``[Q, K]`` filled with -1.
        gap: ``[Q, K]`` filled with inf.
    """
    offsets, radius, points = cells.offsets, cells.radius, cells.centres
    bases, boxes, coordinates = cells.bases, cells.boxes, cells.coordinates
    number = cells.frame
    axes_margin, rest_margin = margin.axes, margin.rest
    gap_margin, stored_margin = margin.gap, margin.stored
    bounds = np.empty(coordinates.shape[2], dtype=np.float32)
    picked = np.empty(coordinates.shape[2], dtype=np.int32)
    axes = np.empty(NUM_AXES, dtype=np.float32)
    near = np.empty(len(radius), dtype=np.float32)
    visited = np.empty(len(radius), dtype=np.bool_)
    k_th = frame.shape[1] - 1
    for q in range(len(single)):
        visited[:] = False
        rounded = exact_gap(exact, q, single, q)  # what float32 took from the query
        for c in range(len(radius)):
            away = np.sqrt(squared_gap(single, q, points, c) * f32(gap_margin))
            near[c] = away * f32(0.999998) - radius[c]
        first = lowest(near, _FIRST_VISITS)
        for visit in range(len(first) + len(near)):
            c = first[visit] if visit < len(first) else visit - len(first)
            # Bounds are of the rounded query; the given one may be that much nearer.
            limit = f32((gap[q, k_th] + rounded) * (1 + 1e-6))
            if visited[c] or near[c] > limit * _UP:
                continue
            visited[c] = True
            squared = project(single, q, points, c, bases, c, axes)
            low, high = rest_range(squared, axes, rest_margin * squared)
            slack = axes_margin * np.sqrt(squared) * _UP + stored_margin * radius[c]
            allowed = (limit + slack) * _UP
            allowed *= allowed
            if box_gap(axes, low, high, boxes, c) > allowed:
                continue
            size = offsets[c + 1] - offsets[c]
            frame_bounds(coordinates, c, size, axes, low, high, bounds)
            for i in range(pick(bounds, size, allowed, picked)):
                row = number[offsets[c] + picked[i]]
                if episode[row] != excluded[q]:
                    keep(frame, gap, q, row, exact_gap(exact, q, z, row))
