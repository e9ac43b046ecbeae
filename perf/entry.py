"""One observation attached: ours, and a peer's nearest frames of one query."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.core.latents import Latents
from metro.core.neighbours import BruteForceIndex
from metro.types import FrameIds
from perf import libraries
from perf.approximate import MOST_FRAMES, RECALL
from perf.case import NUM_NEIGHBOURS, Case
from perf.measuring import Row, try_peer, with_ratios

NUM_OBSERVATIONS = 200
_NOISE = 0.05
_EFFORTS = (16, 32, 64, 128, 256)
_BUILDS = {"faiss flat": libraries.faiss_flat, "faiss HNSW": libraries.faiss_hnsw(16)}

Ask = Callable[[NDArray[np.float32], int], NDArray[Any]]
"""Takes ``[1, D]`` and the held-out episode, returns frames, nearest first."""


class _Observed:
    """Noisy recorded frames, their episodes, and the exact answers."""

    def __init__(self, case: Case) -> None:
        frames = case.sample(NUM_OBSERVATIONS, purpose=3)
        rng = np.random.default_rng([case.seed, 8])
        z = case.latents.z[frames]
        self.rows = z + _NOISE * rng.standard_normal(z.shape, dtype=np.float32)
        self.held_out = case.episode[frames]
        index = BruteForceIndex(case.latents)
        self.frame, _ = index.nearest(self.rows, NUM_NEIGHBOURS, self.held_out)


def measure_entry(case: Case) -> list[Row]:
    """Return rows of attaching one observation: ours first, then the peers."""
    case.tell("our entry")
    index, observed = case.graph.index, _Observed(case)

    def ask(row: NDArray[np.float32], held_out: int) -> NDArray[Any]:
        frame, _ = index.nearest(row, NUM_NEIGHBOURS, np.array([held_out]))
        return np.asarray(frame[0])

    rows = [_measure(case, "metro", ask, observed)]
    case.tell("entry by numpy")
    rows.append(_measure(case, "numpy", _numpy(case), observed))
    rows.append(_by_faiss(case, "faiss flat", (0,), observed))
    rows.append(_by_faiss(case, "faiss HNSW", _EFFORTS, observed))
    return with_ratios(rows, rows[0]["seconds"])


def _measure(case: Case, method: str, ask: Ask, observed: _Observed) -> Row:
    seconds = np.empty(len(observed.rows))
    found = np.full((len(observed.rows), NUM_NEIGHBOURS), -1, dtype=np.int64)
    ask(observed.rows[:1], int(observed.held_out[0]))  # compiles
    for i, held_out in enumerate(observed.held_out.tolist()):
        start = time.perf_counter()
        frames = ask(observed.rows[i : i + 1], held_out)
        seconds[i] = time.perf_counter() - start
        found[i, : len(frames)] = frames
    median, p95 = np.quantile(seconds, [0.5, 0.95])
    return case.row(
        "entry",
        method,
        seconds=float(median),
        p95_seconds=float(p95),
        recall=_recall(observed.frame, found),
        exact=np.array_equal(found, observed.frame),
        note=f"median of {len(seconds)}; 95th percentile {1000 * p95:.3f} ms",
    )


def _recall(expected: FrameIds, found: NDArray[Any]) -> float:
    return float((expected[:, :, None] == found[:, None, :]).any(axis=2).mean())


def _numpy(case: Case) -> Ask:
    z = case.latents.z
    squares = np.einsum("ij,ij->i", z, z)

    def ask(row: NDArray[np.float32], held_out: int) -> NDArray[Any]:
        score = squares - 2 * (z @ row[0])
        score[case.latents.rows_of(held_out)] = np.inf
        best = np.argpartition(score, NUM_NEIGHBOURS)[:NUM_NEIGHBOURS]
        return np.asarray(best[np.argsort(score[best])])

    return ask


def _by_faiss(
    case: Case, method: str, efforts: tuple[int, ...], observed: _Observed
) -> Row:
    """Measure faiss, told which rows to leave out; the first effort that passes."""

    def absent(note: str) -> Row:
        return case.row("entry", method, note=note)

    def run(faiss: Any) -> Row:
        faiss.omp_set_num_threads(case.threads)
        index = case.kept.get(method)
        if index is None:
            build = _BUILDS[method]
            index = build(faiss, case.latents.z, case.threads).index
        for effort in efforts:
            ask = _faiss_ask(faiss, index, effort, case.latents)
            row = _measure(case, method, ask, observed)
            if row["recall"] >= RECALL:
                break
        return {**row, "exact": None, "effort": effort}

    if method == "faiss HNSW" and case.latents.num_frames > MOST_FRAMES:
        return absent(f"not run: more than {MOST_FRAMES:,} frames")
    case.tell(f"entry by {method}")
    return try_peer("faiss", absent, run)


def _faiss_ask(faiss: Any, index: Any, effort: int, latents: Latents) -> Ask:
    def ask(row: NDArray[np.float32], held_out: int) -> NDArray[Any]:
        left_out = latents.rows_of(held_out)
        own = faiss.IDSelectorRange(left_out.start, left_out.stop)
        others = faiss.IDSelectorNot(own)
        if effort:
            how = faiss.SearchParametersHNSW(sel=others, efSearch=effort)
        else:
            how = faiss.SearchParameters(sel=others)
        return np.asarray(index.search(row, NUM_NEIGHBOURS, params=how)[1][0])

    return ask
