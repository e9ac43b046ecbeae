# ruff: noqa: ANN001, ANN201, ANN202, PLR0913
# mypy: ignore-errors
"""What peers need besides their own code, compiled so that it costs them little."""

import numpy as np
from numba import njit

_STRIP = 64
_NO_NAN = {"nnan", "nsz", "reassoc", "contract"}
"""Lets the minimum of a strip use SIMD; infinities keep their meaning."""


@njit(nogil=True, cache=True)
def select(products, squares, first, episode, own, frame, score):
    """Offer one tile of products to the k nearest of every query.

    Args:
        products: ``[Q, T]`` scalar products with the T rows of the tile.
        squares: ``[N]`` squared norms of all rows.
        first: Row where the tile starts.
        episode: ``[N]`` episode of every row.
        own: ``[Q]`` episode that each query must not use.
        frame: ``[Q, K]`` nearest frames so far.
        score: ``[Q, K]`` their squared norms minus twice the products, ascending.
    """
    width, last = products.shape[1], frame.shape[1] - 1
    for q in range(products.shape[0]):
        for start in range(0, width, _STRIP):
            stop = min(start + _STRIP, width)
            if not _least(products, squares, q, first, start, stop) < score[q, last]:
                continue
            for t in range(start, stop):
                row = first + t
                offer = squares[row] - np.float32(2) * products[q, t]
                if offer < score[q, last] and episode[row] != own[q]:
                    place = last
                    while place > 0 and score[q, place - 1] > offer:
                        score[q, place] = score[q, place - 1]
                        frame[q, place] = frame[q, place - 1]
                        place -= 1
                    score[q, place], frame[q, place] = offer, row


@njit(nogil=True, fastmath=_NO_NAN)
def _least(products, squares, q, first, start, stop):
    least = np.float32(np.inf)
    for i in range(stop - start):  # unsigned places vectorise: they cannot wrap around
        t = np.uint64(start) + np.uint64(i)
        offer = squares[np.uint64(first) + t] - np.float32(2) * products[q, t]
        least = min(least, offer)
    return least


@njit(nogil=True, cache=True)
def keep_others(found, episode, own, frame):
    """Keep the first k found frames of other episodes; ``frame`` is -1 to start."""
    for q in range(found.shape[0]):
        place = 0
        for i in range(found.shape[1]):
            row = found[q, i]
            if place == frame.shape[1]:
                break
            if row >= 0 and episode[row] != own[q]:
                frame[q, place] = row
                place += 1
