"""Frames grouped into cells, each with a centre, axes of its own, and a box.

Latents lie on thin, curved manifolds: a cell of neighbouring frames is almost flat.
Eight axes and the norm of what they leave bound every gap to a frame.
"""

from concurrent.futures import Executor
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metro.kernels.compiled import compiled
from metro.kernels.neighbours.primitives import NUM_AXES, f32, f64

FRAMES_PER_CELL = 128
"""Frames that a cell aims for."""

MOST_FRAMES = 208
"""Frames that no cell exceeds: every cell's coordinates have the same room."""

_SHORTENED = 1 - 1e-6
"""Length of an axis. Rounded to float32, eight axes of length 1 could be worth a little
more than a projection; shortened, what they leave is a norm, whatever was rounded."""

_LANES = 8
_ASSIGN_ROWS = 4_096


class Cells(NamedTuple):
    """An index over N frames in C cells; rows are in cell order.

    Attributes:
        frame: ``[N]`` int32: which frame each row is.
        offsets: ``[C + 1]`` first row of every cell.
        centres: ``[C, W]`` float32; W is D rounded up to whole vector registers.
        bases: ``[C, 8, W]`` float32, orthogonal axes of each cell, a bit under 1.
        coordinates: ``[C, 9, R]`` float32: the eight coordinates of a cell's rows, axis
            by axis, then the norms of what the axes leave; R is the largest cell.
        boxes: ``[2, 9, C]`` least and largest of those, for every cell.
        reach: ``[N]`` gap from every row to its centre, rounded up.
        radius: ``[C]`` largest reach of every cell.
    """

    frame: NDArray[np.int32]
    offsets: NDArray[np.int64]
    centres: NDArray[np.float32]
    bases: NDArray[np.float32]
    coordinates: NDArray[np.float32]
    boxes: NDArray[np.float32]
    reach: NDArray[np.float32]
    radius: NDArray[np.float32]


def padded(z: NDArray[Any]) -> NDArray[np.float32]:
    """Return rows as float32, zeros added up to a whole number of vector registers."""
    missing = -z.shape[1] % _LANES
    rows = np.pad(z, ((0, 0), (0, missing))) if missing else z
    return np.ascontiguousarray(rows, dtype=np.float32)


def group_frames(
    z: NDArray[np.float32], *, seed: int = 0
) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
    """Return frames in cell order and where cells start, by k-means in two levels."""
    rng = np.random.default_rng(seed)
    # About √C groups: one level would compare each frame with all C centres.
    num_groups = max(1, round((len(z) / FRAMES_PER_CELL) ** 0.5))
    order, offsets = _sorted_groups(_k_means(z, num_groups, rng, rounds=8), num_groups)
    found: list[NDArray[np.int64]] = []
    for start, stop in pairwise(offsets):
        found += _split(z, order[start:stop], rng)
    sizes = [len(cell) for cell in found]
    cells = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return np.concatenate(found).astype(np.int32), cells


def _split(
    z: NDArray[np.float32], group: NDArray[np.int64], rng: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Return cells of at most `MOST_FRAMES` frames, in the order of their making."""
    if len(group) <= MOST_FRAMES:
        return [group] if len(group) else []
    count = -(-len(group) // FRAMES_PER_CELL)
    order, offsets = _sorted_groups(_k_means(z[group], count, rng, rounds=6), count)
    sizes = np.diff(offsets)
    if sizes.max() == len(group):  # all alike: any split is as good
        order, offsets = np.arange(len(group)), np.arange(count) * FRAMES_PER_CELL
        offsets = np.append(offsets, len(group))
    cells = []
    for start, stop in pairwise(offsets):
        cells += _split(z, group[order[start:stop]], rng)
    return cells


def describe_cells(
    rows: NDArray[np.float32],
    frame: NDArray[np.int32],
    offsets: NDArray[np.int64],
    pool: Executor,
    num_parts: int,
) -> Cells:
    """Return the cells of rows that are in cell order."""
    num_rows, width = rows.shape
    num_cells, room = len(offsets) - 1, int(np.diff(offsets).max())
    cells = Cells(
        frame=frame,
        offsets=offsets,
        centres=np.empty((num_cells, width), dtype=np.float32),
        bases=np.empty((num_cells, NUM_AXES, width), dtype=np.float32),
        coordinates=np.zeros((num_cells, NUM_AXES + 1, room), dtype=np.float32),
        boxes=np.empty((2, NUM_AXES + 1, num_cells), dtype=np.float32),
        reach=np.empty(num_rows, dtype=np.float32),
        radius=np.empty(num_cells, dtype=np.float32),
    )
    start = np.random.default_rng(0).standard_normal((width, NUM_AXES))
    edges = np.linspace(0, num_cells, num_parts + 1).astype(np.int64)
    parts = [
        pool.submit(_describe, rows, cells, start, *edge) for edge in pairwise(edges)
    ]
    for part in parts:
        part.result()
    return cells


def _k_means(
    z: NDArray[np.float32], count: int, rng: np.random.Generator, *, rounds: int
) -> NDArray[np.int32]:
    """Return the nearest of ``count`` centres for every row; trained on a sample."""
    if count <= 1:
        return np.zeros(len(z), dtype=np.int32)
    num_samples = 48 * count + 1_024
    sample = z
    if len(z) > num_samples:
        sample = z[np.sort(rng.choice(len(z), num_samples, replace=False))]
    centres = sample[rng.choice(len(sample), count, replace=False)]
    for _ in range(rounds):
        order, offsets = _sorted_groups(_assign(sample, centres), count)
        sizes = np.diff(offsets)
        used = sizes > 0
        sums = np.add.reduceat(sample[order], offsets[:-1][used], axis=0)
        centres[used] = sums / sizes[used, None]
        centres[~used] = sample[rng.choice(len(sample), int((~used).sum()))]
    return _assign(z, centres)


def _assign(z: NDArray[np.float32], centres: NDArray[np.float32]) -> NDArray[np.int32]:
    nearest = np.empty(len(z), dtype=np.int32)
    norms = np.einsum("ij,ij->i", centres, centres)
    columns = np.ascontiguousarray(centres.T)
    for start in range(0, len(z), _ASSIGN_ROWS):
        part = slice(start, start + _ASSIGN_ROWS)
        score = z[part] @ columns
        # Without ‖z‖², which is the same for every centre.
        score *= -2
        score += norms
        nearest[part] = score.argmin(axis=1)
    return nearest


def _sorted_groups(
    group: NDArray[np.int32], count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return row numbers sorted by group, and where groups start."""
    # Stable: a cell's frames stay in time order, which `fill_from_own_cells` uses.
    order = np.argsort(group, kind="stable")
    sizes = np.bincount(group, minlength=count)
    return order, np.concatenate([[0], np.cumsum(sizes)])


@compiled(cached=True)
def _describe(rows, cells, start, first, last):
    """Fill the centres, axes, coordinates and boxes of cells first ... last − 1."""
    width = rows.shape[1]
    basis = np.empty((width, NUM_AXES))
    for c in range(first, last):
        begin, end = cells.offsets[c], cells.offsets[c + 1]
        for t in range(width):
            total = 0.0
            for i in range(begin, end):
                total += rows[i, t]
            cells.centres[c, t] = f32(total / (end - begin))
        away = rows[begin:end] - cells.centres[c]
        basis[:] = start
        # Twice is enough: bounds hold for any axes, better ones only prune more.
        for _ in range(2):
            basis[:] = np.dot(away.T, np.dot(away, basis.astype(np.float32)))
            _orthonormalise(basis)
        for k in range(NUM_AXES):
            for t in range(width):
                cells.bases[c, k, t] = f32(basis[t, k] * _SHORTENED)
        _locate(rows, cells, c, begin, end)


@compiled()
def _orthonormalise(basis):
    """Gram-Schmidt, each axis twice; a direction that is not there becomes zero."""
    width, count = basis.shape
    for k in range(count):
        before = 0.0
        for t in range(width):
            before += basis[t, k] * basis[t, k]
        # Once leaves rounding errors along the axes before; twice does not.
        for _ in range(2):
            for other in range(k):
                along = 0.0
                for t in range(width):
                    along += basis[t, other] * basis[t, k]
                for t in range(width):
                    basis[t, k] -= along * basis[t, other]
        norm = 0.0
        for t in range(width):
            norm += basis[t, k] * basis[t, k]
        keeps = norm > 1e-12 * before
        for t in range(width):
            basis[t, k] = basis[t, k] / np.sqrt(norm) if keeps else 0.0


@compiled(fastmath={"reassoc", "contract"})
def _locate(rows, cells, c, begin, end):
    """Fill the coordinates and the box of one cell, in float64."""
    width = rows.shape[1]
    away = np.empty(width)
    farthest = 0.0
    for row in range(begin, end):
        squared = 0.0
        for t in range(width):
            away[t] = f64(rows[row, t]) - f64(cells.centres[c, t])
            squared += away[t] * away[t]
        left = squared
        for k in range(NUM_AXES):
            along = 0.0
            for t in range(width):
                along += f64(cells.bases[c, k, t]) * away[t]
            left -= along * along
            cells.coordinates[c, k, row - begin] = f32(along)
        rest = f32(np.sqrt(max(left, 0.0)))
        cells.coordinates[c, NUM_AXES, row - begin] = rest
        reach = np.sqrt(squared) * (1 + 1e-6)
        cells.reach[row] = f32(reach)
        farthest = max(farthest, reach)
    cells.radius[c] = f32(farthest * (1 + 1e-6))
    for k in range(NUM_AXES + 1):
        cells.boxes[0, k, c] = cells.coordinates[c, k, : end - begin].min()
        cells.boxes[1, k, c] = cells.coordinates[c, k, : end - begin].max()
