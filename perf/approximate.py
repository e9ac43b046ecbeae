"""Approximate libraries: the time to a full table of other episodes' frames.

They know no episodes, so they fetch more than four neighbours and drop their own
episode's. How many, and how hard to search, is tuned on a sample, which is not counted;
building and answering every frame is.
"""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from perf import libraries
from perf.case import NUM_NEIGHBOURS, Case
from perf.libraries import Search
from perf.measuring import Row, timed, try_peer

MOST_FRAMES = 200_000
"""Above, a peer's index takes hours in one thread."""

RECALL = 0.95
_FETCHED = (8, 12, 16, 24, 32, 48, 64, 96, 128)
_BATCH = 16_384
_WIDTHS = (1, 2, 3, 4, 6, 8)
"""Candidates that a graph keeps for each frame fetched."""


class Peer(NamedTuple):
    """A library: its module, ways to build its index, and how hard it may search."""

    method: str
    package: str
    builds: tuple[Callable[[Any, NDArray[np.float32], int], Search], ...]
    efforts: tuple[int, ...]


class Setting(NamedTuple):
    """How a peer searches, and how that went on the sample."""

    fetched: int
    effort: int
    recall: float
    seconds: float


PEERS = (
    Peer("faiss flat", "faiss", (libraries.faiss_flat,), (0,)),
    Peer("faiss IVF", "faiss", (libraries.faiss_ivf,), (1, 2, 4, 8, 16, 32, 64)),
    Peer(
        "faiss HNSW",
        "faiss",
        (libraries.faiss_hnsw(16), libraries.faiss_hnsw(32)),
        _WIDTHS,
    ),
    Peer(
        "hnswlib",
        "hnswlib",
        (libraries.hnswlib_index(16), libraries.hnswlib_index(32)),
        _WIDTHS,
    ),
    Peer(
        "usearch",
        "usearch.index",
        (libraries.usearch_index(16), libraries.usearch_index(32)),
        _WIDTHS,
    ),
    Peer("pynndescent", "pynndescent", (libraries.pynndescent_graph,), (0,)),
)


def measure_approximate(case: Case) -> list[Row]:
    """Return a row for every peer; above `MOST_FRAMES` none of them is run."""
    return [_measure(case, peer) for peer in PEERS]


def _measure(case: Case, peer: Peer) -> Row:
    def absent(note: str) -> Row:
        return case.row("table", peer.method, note=note)

    if case.latents.num_frames > MOST_FRAMES:
        return absent(f"not run: more than {MOST_FRAMES:,} frames")
    case.tell(peer.method)
    if peer.method == "pynndescent":
        return try_peer(peer.package, absent, lambda it: _by_graph(case, peer, it))
    return try_peer(peer.package, absent, lambda it: _by_index(case, peer, it))


def _by_index(case: Case, peer: Peer, module: Any) -> Row:
    """Build, tune on the sample, then answer every frame."""
    z = case.latents.z
    for build in peer.builds:
        building, search = timed(build, module, z, case.threads)
        best = _tune(case, search, peer.efforts)
        if best.recall >= RECALL:
            break
    case.kept[peer.method] = search.index
    frames = np.arange(case.latents.num_frames)
    scaled = best.recall < RECALL or peer.method == "faiss flat"
    if scaled:
        answering = best.seconds * len(frames) / len(case.truth.queries)
        recall = best.recall
    else:
        answering, table = timed(answer, case, search, frames, best)
        recall = case.truth.recall(table[case.truth.queries])
    return case.row(
        "table",
        peer.method,
        seconds=building + answering,
        recall=recall,
        build_seconds=building,
        fetched=best.fetched,
        effort=best.effort,
        note=_note(case, best, recall, scaled),
    )


def _by_graph(case: Case, peer: Peer, module: Any) -> Row:
    """Let a library make its own table of all frames; it has nothing to search."""
    z, truth = case.latents.z, case.truth
    peer.builds[0](module, z[:4096], case.threads).ask(z[:0], 8, 0)  # compiles
    make = peer.builds[0](module, z, case.threads)
    for fetched in _worth_fetching(case):
        making, found = timed(make.ask, z, fetched, 0)
        filtering, table = timed(_others, case, found, np.arange(len(z)))
        recall = truth.recall(table[truth.queries])
        if recall >= RECALL:
            break
    best = Setting(fetched, 0, recall, making + filtering)
    return case.row(
        "table",
        peer.method,
        seconds=best.seconds,
        recall=recall,
        fetched=fetched,
        note=_note(case, best, recall, False),
    )


def answer(
    case: Case, search: Search, frames: NDArray[np.int64], setting: Setting
) -> NDArray[np.int32]:
    """Return ``[Q, 4]`` frames of other episodes as a peer finds them."""
    parts = [
        _others(
            case,
            search.ask(case.latents.z[part], setting.fetched, setting.effort),
            part,
        )
        for part in _batches(frames)
    ]
    return np.concatenate(parts)


def _others(
    case: Case, found: NDArray[Any], frames: NDArray[np.int64]
) -> NDArray[np.int32]:
    from perf.kernels import keep_others

    frame = np.full((len(found), NUM_NEIGHBOURS), -1, dtype=np.int32)
    signed = np.ascontiguousarray(found).astype(np.int64, copy=False)
    keep_others(signed, case.episode, case.episode[frames], frame)
    return frame


def _batches(frames: NDArray[np.int64]) -> Iterator[NDArray[np.int64]]:
    for start in range(0, len(frames), _BATCH):
        yield frames[start : start + _BATCH]


def _worth_fetching(case: Case) -> list[int]:
    """Return the two smallest fetches with which an exact library would pass."""
    truth = case.truth
    passing = [n for n in _FETCHED if truth.recall(truth.nearest[:, :n]) > RECALL]
    return passing[:2] or [_FETCHED[-1]]


def _tune(case: Case, search: Search, efforts: tuple[int, ...]) -> Setting:
    """Return the fastest setting that passes, or else the one that finds most."""
    queries, truth = case.truth.queries, case.truth
    passed: list[Setting] = []
    failed: list[Setting] = []
    answer(case, search, queries[:32], Setting(8, efforts[0], 0, 0))
    for fetched in _worth_fetching(case):
        for effort in efforts:
            trial = Setting(fetched, effort, 0, 0)
            seconds, frame = timed(answer, case, search, queries, trial)
            trial = trial._replace(recall=truth.recall(frame), seconds=seconds)
            (passed if trial.recall >= RECALL else failed).append(trial)
            if trial.recall >= RECALL:
                break
    if passed:
        return min(passed, key=lambda setting: setting.seconds)
    return max(failed, key=lambda setting: setting.recall)


def _note(case: Case, best: Setting, recall: float, scaled: bool) -> str:
    parts = [f"fetches {best.fetched}"]
    if best.effort:
        parts.append(f"effort {best.effort}")
    if scaled:
        parts.append(f"answers scaled from {len(case.truth.queries)} queries")
    if recall < RECALL:
        parts.append(f"recall {RECALL} not reached")
    return "; ".join(parts)
