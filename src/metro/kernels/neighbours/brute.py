"""Where nothing can be pruned: matrix products, and a scan that keeps the k nearest."""

import numpy as np

from metro.kernels.compiled import compiled
from metro.kernels.neighbours.primitives import NO_NAN, exact_gap, f32, keep

_STRIP = 64
u64 = np.uint64


@compiled(cached=True)
def select(
    products, squares, first, queries, rows, error, episode, excluded, frame, gap
):
    """Offer the frames of one tile to all queries.

    Args:
        products: ``[Q, T]`` scalar products of queries with the T rows of the tile.
        squares: ``[N]`` squared norms of all rows.
        first: Row where the tile starts.
        queries: ``[Q, W]`` the queries as they were given, in the rows' units.
        rows: ``[N, W]`` all rows, unmoved.
        error: ``[Q, 2]`` squared norm of each query, and the largest error of an
            approximate squared gap.
        episode: ``[N]`` episode of every row.
        excluded: ``[Q]`` episode that each query must not use.
        frame: ``[Q, K]`` nearest frames so far.
        gap: ``[Q, K]`` their gaps.
    """
    last = frame.shape[1] - 1
    width = products.shape[1]
    for q in range(products.shape[0]):
        limit = _limit(gap[q, last], error[q, 0], error[q, 1])
        for start in range(0, width, _STRIP):
            stop = min(start + _STRIP, width)
            if _least(products, squares, q, first, start, stop) > limit:
                continue
            for t in range(start, stop):
                row = first + t
                near = squares[row] - f32(2) * products[q, t] <= limit
                if gap[q, last] == 0 and row > frame[q, last]:
                    break  # rows ascend: none can be nearer, or as near and lower
                if near and episode[row] != excluded[q]:
                    distance = exact_gap(queries, q, rows, row)
                    if keep(frame, gap, q, row, distance):
                        limit = _limit(gap[q, last], error[q, 0], error[q, 1])


@compiled()
def _limit(worst, squared, error):
    """Return what a row's squared norm minus twice its product must not exceed."""
    return f32(worst * worst - squared + error)


@compiled(fastmath=NO_NAN)
def _least(products, squares, q, first, start, stop):
    """Return the least of a strip; unsigned places are known not to wrap around."""
    least = f32(np.inf)
    for i in range(stop - start):
        t = u64(start) + u64(i)
        least = min(least, squares[u64(first) + t] - f32(2) * products[q, t])
    return least
