"""Gaps, projections and bounds of single frames, compiled.

Float32 arithmetic here only decides what need not be measured; `exact_gap` measures.
The flags allow a sum in any order, so every error bound (`Margins`) is one that holds
for any order.
"""

from typing import NamedTuple

import numpy as np

from metro.kernels.compiled import compiled
from metro.kernels.neighbours.lanes import exact_squared_gap

NUM_AXES = 8
"""Axes of a cell's own basis: as many as a vector register has lanes."""

# Never all of fastmath: inf marks what is excluded and must stay inf.
ANY_ORDER = {"reassoc", "contract", "arcp", "nsz"}
NO_NAN = ANY_ORDER | {"nnan"}

f32 = np.float32
f64 = np.float64


class Margins(NamedTuple):
    """How far float32 results can be off, relative to the length of what was projected.

    Attributes:
        axes: Error of the eight coordinates together (Euclidean norm).
        rest: Error of the squared norm of what the axes leave.
        gap: Error of a squared gap.
        stored: Error of coordinates computed in float64 and stored as float32.
    """

    axes: np.float32
    rest: np.float32
    gap: np.float64
    stored: np.float32


def margins(width: int) -> Margins:
    """Return the proven margins for rows of ``width`` numbers. Decision: D10."""
    unit = 2.0**-24
    gamma = (width + 8) * unit / (1 - (width + 8) * unit)
    skew = 1e-6  # an orthonormal basis rounded to float32 is this far from one
    axes = np.sqrt(NUM_AXES) * gamma + skew
    rest = gamma + 2.1 * axes + skew
    return Margins(f32(axes), f32(rest), f64(1 - gamma), f32(2 * skew))


@compiled(fastmath=ANY_ORDER)
def squared_gap(a, i, b, j):
    """Return ‖a_i − b_j‖² in float32."""
    total = f32(0)
    for t in range(a.shape[1]):
        step = a[i, t] - b[j, t]
        total += step * step
    return total


@compiled()
def exact_gap(a, i, b, j):
    """Return ‖a_i − b_j‖₂ in float64, summed in the order of `gaps`."""
    return np.sqrt(exact_squared_gap(a, i, b, j))


@compiled()
def keep(frame, gap, row, candidate, distance):
    """Insert a candidate into a row sorted by (gap, frame); return whether it was."""
    last = frame.shape[1] - 1
    # Negated: a gap that is NaN, of a damaged row, must not push out the others.
    if not distance <= gap[row, last] or (
        distance == gap[row, last] and 0 <= frame[row, last] <= candidate
    ):
        return False
    place = last
    while place > 0 and (
        gap[row, place - 1] > distance
        or (gap[row, place - 1] == distance and frame[row, place - 1] > candidate)
    ):
        gap[row, place] = gap[row, place - 1]
        frame[row, place] = frame[row, place - 1]
        place -= 1
    gap[row, place] = distance
    frame[row, place] = candidate
    return True


@compiled(fastmath=ANY_ORDER)
def project(a, i, centres, c, bases, b, axes):
    """Write the coordinates of a_i − centre_c on basis b; return its squared norm."""
    total = f32(0)
    y0, y1, y2, y3 = f32(0), f32(0), f32(0), f32(0)
    y4, y5, y6, y7 = f32(0), f32(0), f32(0), f32(0)
    for t in range(a.shape[1]):
        step = a[i, t] - centres[c, t]
        total += step * step
        y0 += step * bases[b, 0, t]
        y1 += step * bases[b, 1, t]
        y2 += step * bases[b, 2, t]
        y3 += step * bases[b, 3, t]
        y4 += step * bases[b, 4, t]
        y5 += step * bases[b, 5, t]
        y6 += step * bases[b, 6, t]
        y7 += step * bases[b, 7, t]
    axes[0], axes[1], axes[2], axes[3] = y0, y1, y2, y3
    axes[4], axes[5], axes[6], axes[7] = y4, y5, y6, y7
    return total


@compiled()
def rest_range(squared, axes, error):
    """Return the least and the largest norm that the axes can leave, given an error."""
    left = squared
    for t in range(NUM_AXES):
        left -= axes[t] * axes[t]
    return np.sqrt(max(left - error, f32(0))), np.sqrt(max(left, f32(0)) + error)


@compiled()
def box_gap(axes, low, high, boxes, c):
    """Return the squared gap from coordinates to the box of a cell."""
    total = f32(0)
    for t in range(NUM_AXES):
        out = max(max(boxes[0, t, c] - axes[t], axes[t] - boxes[1, t, c]), f32(0))
        total += out * out
    out = max(max(boxes[0, NUM_AXES, c] - high, low - boxes[1, NUM_AXES, c]), f32(0))
    return total + out * out


@compiled(fastmath=NO_NAN)
def frame_bounds(coordinates, c, count, axes, low, high, bounds):
    """Write a lower bound on the squared gap to each frame of a cell."""
    for i in range(count):
        bounds[i] = f32(0)
    for k in range(NUM_AXES):
        here = axes[k]
        for i in range(count):
            step = coordinates[c, k, i] - here
            bounds[i] += step * step
    for i in range(count):
        rest = coordinates[c, NUM_AXES, i]
        step = rest - min(max(rest, low), high)
        bounds[i] += step * step


@compiled()
def pick(bounds, count, limit, picked):
    """List the places whose bound is within the limit; return how many."""
    found = 0
    for i in range(count):
        # Always written, counted only if near: no branch to predict wrongly.
        picked[found] = i
        found += 1 if bounds[i] <= limit else 0
    return found


@compiled()
def lowest(bounds, count):
    """Return up to ``count`` places of the lowest bounds, lowest first."""
    count = min(count, len(bounds))
    limit = np.partition(bounds, count - 1)[count - 1]
    places = np.flatnonzero(bounds <= limit)[:count]
    return places[np.argsort(bounds[places])]
