"""The neighbour table: ours, and matrix products with a scan."""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.core.neighbours import NeighbourTable, find_neighbours
from perf.case import NUM_NEIGHBOURS, Case, Truth, make_corpus
from perf.measuring import Row, best_of, timed, with_ratios

_TILE = 8_192
_WARM_UP = 9_000

Answer = tuple[NDArray[np.int32], NDArray[np.float32]]


def measure_table(case: Case) -> list[Row]:
    """Return rows of the whole table: ours first, then the peers."""
    from perf.approximate import measure_approximate

    ours = _measure_ours(case)
    rows = [ours, *measure_products(case), *measure_approximate(case)]
    return with_ratios(rows, ours["seconds"])


@cache
def warm_up(threads: int) -> float:
    """Compile all kernels of the table; return the seconds that this took."""
    spent = 0.0
    for state_dim in (5, "noise"):
        latents = make_corpus(_WARM_UP, state_dim)
        cold, _ = timed(find_neighbours, latents, workers=threads)
        warm, _ = timed(find_neighbours, latents, workers=threads)
        spent += max(cold - warm, 0.0)
    return spent


def _measure_ours(case: Case) -> Row:
    case.tell("compiling")
    compiling = warm_up(case.threads)
    case.tell("our table")
    seconds, table = timed(
        find_neighbours, case.latents, NUM_NEIGHBOURS, workers=case.threads
    )
    case.__dict__["table"] = table  # search and entry use it again
    truth = case.truth
    return case.row(
        "table",
        "metro",
        seconds=seconds,
        recall=truth.recall(table.frame[truth.queries]),
        exact=is_exact(table, truth),
        compile_seconds=compiling,
        checked=len(truth.queries),
        note=f"compiling or loading kernels, once: {compiling:.1f} s",
    )


def is_exact(table: NeighbourTable, truth: Truth) -> bool:
    """Return whether the table equals brute force, bit for bit, where checked."""
    frame, gap = table.frame[truth.queries], table.gap[truth.queries]
    return np.array_equal(frame, truth.frame) and np.array_equal(gap, truth.gap)


def measure_products(case: Case) -> list[Row]:
    """Return rows of blocked float32 products, alone and with a top-k scan.

    Both are measured on the queries of `Case.truth` and scaled to all frames. Norms
    are made beforehand and not counted.
    """
    case.tell("sgemm + select")
    z, truth = case.latents.z, case.truth
    moved = z - z.mean(axis=0, dtype=np.float64).astype(np.float32)
    squares = np.einsum("ij,ij->i", moved, moved)
    queries, own = moved[truth.queries], case.episode[truth.queries]
    scan = _scanner(squares, case.episode, own)
    _products(queries, moved[:_TILE], lambda products, first: None)
    _products(queries, moved[:_TILE], scan()[1])  # compiles

    def with_select() -> Answer:
        answer, offer = scan()
        _products(queries, moved, offer)
        return answer

    alone, _ = best_of(2, _products, queries, moved, lambda *_: None)
    both, (frame, _) = best_of(2, with_select)
    scale = case.latents.num_frames / len(queries)
    note = f"scaled from {len(queries)} queries"
    return [
        case.row(
            "table",
            "sgemm + select",
            seconds=both * scale,
            recall=truth.recall(frame),
            note=note,
        ),
        case.row("table", "sgemm", seconds=alone * scale, note=f"{note}; no answer"),
    ]


def _scanner(
    squares: NDArray[np.float32], episode: NDArray[np.int64], own: NDArray[np.int64]
) -> Callable[[], tuple[Answer, Callable[[NDArray[Any], int], None]]]:
    from perf.kernels import select

    def scan() -> tuple[Answer, Callable[[NDArray[Any], int], None]]:
        frame = np.full((len(own), NUM_NEIGHBOURS), -1, dtype=np.int32)
        score = np.full((len(own), NUM_NEIGHBOURS), np.inf, dtype=np.float32)

        def offer(products: NDArray[Any], first: int) -> None:
            select(products, squares, first, episode, own, frame, score)

        return (frame, score), offer

    return scan


def _products(
    queries: NDArray[np.float32],
    rows: NDArray[np.float32],
    offer: Callable[[NDArray[Any], int], None],
) -> None:
    space = np.empty((len(queries), _TILE), dtype=np.float32)
    for first in range(0, len(rows), _TILE):
        tile = rows[first : first + _TILE]
        products = space[:, : len(tile)]
        np.matmul(queries, tile.T, out=products)
        offer(products, first)
