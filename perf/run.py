"""One run: a corpus, the kinds of benchmark that are wanted, and the report."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from metro.core.latents import Latents
from metro.core.neighbours import SMALL
from metro.errors import GraphError
from metro.storage.readers import read_latents
from perf.case import Case, StateDim, make_corpus
from perf.entry import measure_entry
from perf.measuring import Row, Tell
from perf.report import write_report
from perf.scaling import measure_scaling, sizes_up_to
from perf.search import measure_search
from perf.table import measure_table

KINDS = ("table", "search", "entry", "scaling")
_OF_ONE_CORPUS = {
    "table": measure_table,
    "search": measure_search,
    "entry": measure_entry,
}


def run_bench(  # noqa: PLR0913
    kinds: Sequence[str] = KINDS,
    num_frames: int = 200_000,
    state_dim: StateDim = 5,
    noise: float = 0.0,
    seed: int = 0,
    threads: int = 1,
    output: str | Path | None = None,
    progress: Tell | None = None,
    latents: str | Path | None = None,
) -> list[Row]:
    """Measure ours and the peers on the same data; return one row a measurement.

    Args:
        kinds: Some of `KINDS`.
        num_frames: N; scaling measures smaller corpora too.
        state_dim: Intrinsic dimension of the latents, or ``"noise"``.
        noise: Standard deviation of white noise on them.
        seed: Of data and queries.
        threads: Of ours and of the peers.
        output: Writes ``<output>.json`` and ``<output>.md``; None: nothing.
        progress: Called with one line before each measurement.
        latents: Real ones, instead of synthetic; ``num_frames`` of their first
            episodes, ``state_dim`` and ``noise`` do not matter.
    """
    from threadpoolctl import threadpool_limits

    recorded = None if latents is None else read_latents(latents)
    if recorded is not None:
        num_frames = min(num_frames, recorded.num_frames)
    _check(kinds, num_frames)
    tell = progress or (lambda line: None)

    def case(size: int) -> Case:
        tell(f"{size:,} latents")
        if recorded is not None:
            label = f"recorded, {Path(str(latents)).name}"
            return Case(_first_frames(recorded, size), label, threads, seed, tell)
        made = make_corpus(size, state_dim, noise, seed)
        return Case(made, _label(state_dim, noise, seed), threads, seed, tell)

    rows: list[Row] = []
    with threadpool_limits(threads):
        whole = case(num_frames)
        for kind in KINDS:  # the table first: the others use it again
            if kind in kinds and kind in _OF_ONE_CORPUS:
                rows += _OF_ONE_CORPUS[kind](whole)
        del whole
        if "scaling" in kinds:
            rows += measure_scaling(case(size) for size in sizes_up_to(num_frames))
    if output is not None:
        settings: dict[str, Any] = {
            "kinds": list(kinds),
            "num_frames": num_frames,
            "state_dim": state_dim,
            "noise": noise,
            "seed": seed,
            "threads": threads,
        }
        if latents is not None:
            settings["latents"] = Path(latents).name
        write_report(rows, settings, Path(output))
    return rows


def _first_frames(latents: Latents, size: int) -> Latents:
    """Return whole episodes from the first on, at least ``size`` frames of them."""
    count = int(np.searchsorted(latents.episode_offsets, size))
    rows = latents.z[: latents.episode_offsets[count]]
    return Latents(rows, latents.episode_offsets[: count + 1], latents.provenance)


def _label(state_dim: StateDim, noise: float, seed: int) -> str:
    name = "isotropic noise" if state_dim == "noise" else f"{state_dim}-d manifold"
    return f"{name}{f' + noise {noise}' if noise else ''}, seed {seed}"


def _check(kinds: Sequence[str], num_frames: int) -> None:
    for kind in kinds:
        if kind not in KINDS:
            raise GraphError(f"kinds must be among {', '.join(KINDS)}, got {kind!r}.")
    if num_frames < SMALL:
        raise GraphError(f"num_frames must be at least {SMALL}, got {num_frames}.")
