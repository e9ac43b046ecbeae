"""The neighbour table: each cell against every other, most pairs ruled out by bounds.

For a block of cells, a matrix product places all centres on the axes of each. Cells
whose radius reaches into our box are visited, nearest first: a bound for every query
from nine numbers, a box test of all queries at once through an 8 x 8 matrix, the exact
projection of the few left, a bound for every frame, and only then gaps, first in
float32, then exactly.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from metro.kernels.compiled import compiled
from metro.kernels.neighbours.cells import Cells
from metro.kernels.neighbours.primitives import (
    ANY_ORDER,
    NO_NAN,
    NUM_AXES,
    box_gap,
    exact_gap,
    f32,
    f64,
    frame_bounds,
    keep,
    lowest,
    pick,
    project,
    rest_range,
    squared_gap,
)

_FIRST_VISITS = 48
"""Nearest cells that each cell visits before the block goes through the others."""

_LATEST = 8
"""Rows kept last for one frame, which the next frame of its cell tries first."""

# More than the few float32 roundings of a bound, each of 6e-8.
_UP = f32(1.000002)
_DOWN = f32(0.999998)


class Centres(NamedTuple):
    """All centres, ready for the matrix products of every block.

    Attributes:
        moved: ``[C, W]`` centres minus their mean.
        squares: ``[C]`` their squared norms.
        norms: ``[C]`` their norms.
        own: ``[8, C]`` every moved centre on its own axes.
    """

    moved: NDArray[np.float32]
    squares: NDArray[np.float32]
    norms: NDArray[np.float32]
    own: NDArray[np.float32]


def prepare_centres(cells: Cells) -> Centres:
    """Return what every block's views need."""
    # Centred: errors of products grow with norms, and latents may lie far from 0.
    moved = cells.centres - cells.centres.mean(axis=0)
    squares = np.einsum("ct,ct->c", moved, moved, dtype=np.float64)
    own = np.einsum("ckt,ct->kc", cells.bases, moved, dtype=np.float64)
    single = np.float32
    return Centres(
        moved,
        squares.astype(single),
        np.sqrt(squares).astype(single),
        np.ascontiguousarray(own, dtype=single),
    )


def centre_views(cells: Cells, centres: Centres, block: slice) -> NDArray[np.float32]:
    """Return how the cells of a block see all centres: one matrix product.

    ``[B, 9, C]``: all centres on the axes of each cell; last, on its centre.
    """
    here = centres.moved[block]
    mine = np.concatenate([cells.bases[block], here[:, None]], axis=1)
    ours = mine.reshape(-1, here.shape[1]) @ centres.moved.T
    return ours.reshape(len(here), NUM_AXES + 1, len(centres.moved))


@compiled(cached=True)
def fill_from_own_cells(rows, cells, episode, margin, first, last, frame, gap):
    """Start the rows of cells first ... last − 1 with neighbours of their own cell.

    Rows of a cell are mostly consecutive frames: what was near the one before is
    offered first, and rules out most of the others by their coordinates.
    """
    offsets, radius, number = cells.offsets, cells.radius, cells.frame
    coordinates, gap_margin = cells.coordinates, margin.gap
    bounds = np.empty(coordinates.shape[2], dtype=np.float32)
    here = np.empty(NUM_AXES, dtype=np.float32)
    latest = np.zeros(_LATEST, dtype=np.int64)
    kept = np.zeros(_LATEST, dtype=np.int64)
    k_th = frame.shape[1] - 1
    for c in range(first, last):
        begin, count = offsets[c], offsets[c + 1] - offsets[c]
        slack = f32(2) * margin.stored * radius[c]
        kept[:] = 0
        num_kept = 0
        for i in range(count):
            latest[:] = kept
            query = begin + i - offsets[first]
            for k in range(NUM_AXES):
                here[k] = coordinates[c, k, i]
            rest = coordinates[c, NUM_AXES, i]
            frame_bounds(coordinates, c, count, here, rest, rest, bounds)
            bounds[i] = f32(np.inf)
            allowed = f32(np.inf)
            for place in range(_LATEST + count):
                j = latest[place] if place < _LATEST else place - _LATEST
                if bounds[j] > allowed or bounds[j] == np.inf:
                    continue
                bounds[j] = f32(np.inf)  # offered once
                if episode[begin + i] == episode[begin + j]:
                    continue
                worst = gap[query, k_th]
                least = f64(squared_gap(rows, begin + i, rows, begin + j))
                if least * gap_margin > worst * worst:
                    continue
                distance = exact_gap(rows, begin + i, rows, begin + j)
                if keep(frame, gap, query, number[begin + j], distance):
                    kept[num_kept % _LATEST] = j
                    num_kept += 1
                    allowed = (f32(gap[query, k_th] * (1 + 1e-6)) + slack) * _UP
                    allowed *= allowed


@compiled(cached=True)
def scan_block(rows, cells, episode, centres, ours, margin, block, frame, gap):
    """Complete the rows of a block of cells; ``frame`` and ``gap`` start at the block.

    Returns how many queries were projected onto other cells, the measure of work.
    """
    # One long loop on purpose. Arrays leave their tuples here, once per block: every
    # time one does, and at every call that takes arrays, references are counted
    # atomically, which costs more than most visits of a cell. Only what works on whole
    # cells is a function of its own.
    first, last = block
    offsets, radius = cells.offsets, cells.radius
    coordinates, boxes, bases = cells.coordinates, cells.boxes, cells.bases
    squares, norms, own = centres.squares, centres.norms, centres.own
    points, number = cells.centres, cells.frame
    axes_margin, rest_margin = margin.axes, margin.rest
    gap_margin, stored_margin = margin.gap, margin.stored
    num_cells, room = len(radius), coordinates.shape[2]
    near = np.empty(num_cells, dtype=np.float32)
    rest = np.empty(num_cells, dtype=np.float32)
    visited = np.empty(num_cells, dtype=np.bool_)
    limits = np.empty(room, dtype=np.float32)
    bounds = np.empty(room, dtype=np.float32)
    other = np.empty(room, dtype=np.float32)
    chosen = np.empty(room, dtype=np.int32)
    picked = np.empty(room, dtype=np.int32)
    gathered = np.empty((NUM_AXES, room), dtype=np.float32)
    turn = np.empty((NUM_AXES, NUM_AXES), dtype=np.float32)
    here = np.empty(NUM_AXES, dtype=np.float32)
    there = np.empty(NUM_AXES, dtype=np.float32)
    k_th = frame.shape[1] - 1
    work = 0
    for b in range(last - first):
        mine = first + b
        begin, count = offsets[mine], offsets[mine + 1] - offsets[mine]
        row = begin - offsets[first]
        for i in range(count):
            limits[i] = f32(gap[row + i, k_th] * (1 + 1e-6))
        _our_bounds(
            ours, boxes, squares, norms, own, radius, margin, mine, b, rest, near
        )
        visited[:] = False
        # `fill_from_own_cells` has offered all of these.
        visited[mine] = True
        most = _worst(limits, count)
        nearest = lowest(near, _FIRST_VISITS)
        # The nearest lower the limits, which then rule out most of the others.
        for visit in range(len(nearest) + num_cells):
            c = nearest[visit] if visit < len(nearest) else visit - len(nearest)
            if visited[c] or near[c] > most:
                continue
            visited[c] = True
            length = (norms[mine] + norms[c]) * _UP
            squared = squares[mine] + squares[c] - f32(2) * ours[b, NUM_AXES, c]
            for k in range(NUM_AXES):
                here[k] = ours[b, k, c] - own[k, mine]
            low, high = rest_range(squared, here, rest_margin * length * length)
            frame_bounds(coordinates, mine, count, here, low, high, bounds)
            slack = axes_margin * length + stored_margin * radius[mine]
            queries = _choose(bounds, limits, count, radius[c] + slack, other, chosen)
            # The matrix costs as much as eight projections.
            if queries > NUM_AXES:
                project(points, mine, points, c, bases, c, there)
                for k in range(NUM_AXES):
                    for i in range(queries):
                        gathered[k, i] = coordinates[mine, k, chosen[i]]
                _turn(bases, mine, c, turn)
                length += radius[mine]
                error = f32(3) * rest_margin * length * length
                _foot_gaps(
                    boxes,
                    c,
                    gathered,
                    turn,
                    here,
                    there,
                    squared,
                    error,
                    queries,
                    other,
                    bounds,
                )
                slack = f32(3) * axes_margin * length
                slack += stored_margin * (radius[c] + radius[mine])
                queries = _keep_close(
                    bounds, limits, coordinates, mine, slack, chosen, queries
                )
            for i in range(queries):
                query = chosen[i]
                squared = project(rows, begin + query, points, c, bases, c, there)
                low, high = rest_range(squared, there, rest_margin * squared)
                slack = axes_margin * np.sqrt(squared) * _UP + stored_margin * radius[c]
                allowed = (limits[query] + slack) * _UP
                allowed *= allowed
                if box_gap(there, low, high, boxes, c) > allowed:
                    continue
                size = offsets[c + 1] - offsets[c]
                frame_bounds(coordinates, c, size, there, low, high, bounds)
                size = pick(bounds, size, allowed, picked)
                _measure(
                    rows,
                    episode,
                    number,
                    gap_margin,
                    begin + query,
                    offsets[c],
                    picked,
                    size,
                    frame,
                    gap,
                    row + query,
                )
                limits[query] = f32(gap[row + query, k_th] * (1 + 1e-6))
            if queries > 0:
                most = _worst(limits, count)
            work += queries
    return work


@compiled(fastmath=NO_NAN)
def _worst(limits, count):
    """Return the largest limit of a cell's queries, rounded up."""
    most = f32(0)
    for i in range(count):
        most = max(most, limits[i])
    return most * _UP


@compiled(fastmath=NO_NAN)
def _our_bounds(ours, boxes, squares, norms, own, radius, margin, mine, b, rest, near):
    """Write a lower bound on the gap of our queries to the frames of every cell."""
    for c in range(len(near)):
        near[c] = f32(0)
        rest[c] = squares[c] + squares[mine] - f32(2) * ours[b, NUM_AXES, c]
    for k in range(NUM_AXES):
        low, high, shift = boxes[0, k, mine], boxes[1, k, mine], own[k, mine]
        for c in range(len(near)):
            y = ours[b, k, c] - shift
            rest[c] -= y * y
            out = y - min(max(y, low), high)
            near[c] += out * out
    low, high = boxes[0, NUM_AXES, mine], boxes[1, NUM_AXES, mine]
    for c in range(len(near)):
        length = (norms[c] + norms[mine]) * _UP
        error = margin.rest * length * length
        least = np.sqrt(max(rest[c] - error, f32(0)))
        most = np.sqrt(max(rest[c], f32(0)) + error)
        out = max(max(low - most, least - high), f32(0))
        bound = np.sqrt(near[c] + out * out) * _DOWN
        slack = margin.axes * length + margin.stored * radius[mine]
        near[c] = bound - slack - radius[c]


@compiled(fastmath=NO_NAN)
def _choose(bounds, limits, count, slack, excess, chosen):
    """List the queries whose bound does not rule the cell out; return how many."""
    for i in range(count):
        allowed = (limits[i] + slack) * _UP
        excess[i] = bounds[i] - allowed * allowed
    return pick(excess, count, f32(0), chosen)


@compiled()
def _keep_close(bounds, limits, coordinates, mine, slack, chosen, count):
    """Drop the queries whose foot on our axes is too far from their box.

    A query is off its foot by what our axes leave of it.
    """
    left = 0
    for i in range(count):
        query = chosen[i]
        allowed = (limits[query] + coordinates[mine, NUM_AXES, query] + slack) * _UP
        chosen[left] = query
        left += 1 if bounds[i] <= allowed * allowed else 0
    return left


@compiled(fastmath=ANY_ORDER)
def _turn(bases, mine, c, turn):
    """Write the 8 x 8 matrix that takes coordinates on our axes to theirs."""
    for k in range(NUM_AXES):
        y0, y1, y2, y3 = f32(0), f32(0), f32(0), f32(0)
        y4, y5, y6, y7 = f32(0), f32(0), f32(0), f32(0)
        for t in range(bases.shape[2]):
            step = bases[mine, k, t]
            y0 += step * bases[c, 0, t]
            y1 += step * bases[c, 1, t]
            y2 += step * bases[c, 2, t]
            y3 += step * bases[c, 3, t]
            y4 += step * bases[c, 4, t]
            y5 += step * bases[c, 5, t]
            y6 += step * bases[c, 6, t]
            y7 += step * bases[c, 7, t]
        turn[k, 0], turn[k, 1], turn[k, 2], turn[k, 3] = y0, y1, y2, y3
        turn[k, 4], turn[k, 5], turn[k, 6], turn[k, 7] = y4, y5, y6, y7


@compiled(fastmath=NO_NAN)
def _foot_gaps(boxes, c, a, turn, here, there, squared, error, count, left, out):
    """Write the squared gap to the box of cell c of feet ``a`` ``[8, count]``."""
    for i in range(count):
        out[i] = f32(0)
        left[i] = squared
    for k in range(NUM_AXES):
        twice = f32(2) * here[k]
        for i in range(count):
            left[i] += a[k, i] * (a[k, i] - twice)
    for k in range(NUM_AXES):
        m0, m1, m2, m3 = turn[0, k], turn[1, k], turn[2, k], turn[3, k]
        m4, m5, m6, m7 = turn[4, k], turn[5, k], turn[6, k], turn[7, k]
        start, low, high = there[k], boxes[0, k, c], boxes[1, k, c]
        for i in range(count):
            y = start + m0 * a[0, i] + m1 * a[1, i] + m2 * a[2, i] + m3 * a[3, i]
            y += m4 * a[4, i] + m5 * a[5, i] + m6 * a[6, i] + m7 * a[7, i]
            left[i] -= y * y
            step = y - min(max(y, low), high)
            out[i] += step * step
    low, high = boxes[0, NUM_AXES, c], boxes[1, NUM_AXES, c]
    for i in range(count):
        least = np.sqrt(max(left[i] - error, f32(0)))
        most = np.sqrt(max(left[i], f32(0)) + error)
        step = max(max(low - most, least - high), f32(0))
        out[i] += step * step


@compiled()
def _measure(
    rows, episode, number, shrink, row, begin, picked, count, frame, gap, query
):
    """Measure the picked frames of a cell, and keep the nearest."""
    last = frame.shape[1] - 1
    for i in range(count):
        other = begin + picked[i]
        worst = gap[query, last]
        if episode[other] == episode[row] or (
            worst == 0 and number[other] > frame[query, last]
        ):
            continue
        if f64(squared_gap(rows, row, rows, other)) * shrink <= worst * worst:
            distance = exact_gap(rows, row, rows, other)
            keep(frame, gap, query, number[other], distance)
