"""Many latents measured by several processes: a row each, resumable."""

import json
import multiprocessing
import signal
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from metro.core.gaps import gaps_of_pairs
from metro.core.latents import Latents
from metro.data.collect.spec import library_versions
from metro.data.collect.workers import use_one_thread
from metro.envs.rendering import Renderer, adopt, find_renderer
from metro.errors import BenchmarkError, WorldError
from metro.evaluation.records import append_records, read_records, require_writable
from metro.studies.residual.measure import SearchConfig, SearchContext
from metro.studies.residual.search import Budget, find_budget
from metro.studies.residual.targets import Targets, digest_of
from metro.types import Progress, Vector
from metro.version import commit

StateColumns = dict[str, Any]

_SAMPLES = 5_000

_lab: SearchContext | None = None
"""What a worker process has open."""


@dataclass(frozen=True)
class ResidualItem:
    """One latent, the budgets that lack a row, and what its rows say beforehand."""

    target: Vector
    budgets: Mapping[str, Budget]
    seed: int
    told: StateColumns


def measure_residuals(  # noqa: PLR0913  (one argument a setting, as the verb has them)
    source: SearchConfig,
    targets: Targets,
    path: Path,
    *,
    budgets: Sequence[str] = ("small",),
    seed: int = 0,
    workers: int = 1,
    progress: Progress | None = None,
) -> list[StateColumns]:
    """Measure every latent with every budget; append rows to ``path``, return them.

    Rows that the file has already are not measured again. A latent is searched for by
    one process with one thread and random numbers of its own, so the number of
    workers changes nothing.

    Args:
        source: Where world, recording, model and latents are.
        targets: What to measure.
        path: Rows (.jsonl).
        budgets: Names of `metro.studies.residual.search.BUDGETS`.
        seed: Of the search.
        workers: Processes.
        progress: Called with rows (done, total).
    """
    if workers < 1:
        raise BenchmarkError(f"workers must be at least 1, got {workers}.")
    chosen = {name: find_budget(name) for name in budgets}
    done = {run_key(row): row for row in read_records(path)}
    require_writable(path)
    tasks, wanted = _plan(source, targets, chosen, seed, set(done))
    for rows in _carry_out(source, tasks, workers):
        append_records(rows, path)
        done |= {run_key(row): row for row in rows}
        if progress is not None:
            progress(sum(key in done for key in wanted), len(wanted))
    return [done[key] for key in wanted]


def run_key(row: Mapping[str, Any]) -> str:
    """Return what a row answers: the same key, the same question."""
    names = ("benchmark", "method", "latent", "budget", "seed", "rendering", "setting")
    digests = [
        (row.get(part) or {}).get("digest") for part in ("model", "corpus", "macro")
    ]
    return json.dumps([*(row.get(name) for name in names), *digests], sort_keys=True)


def typical_gaps(latents: Latents) -> dict[str, float]:
    """Return the median gap of consecutive frames, and of frames of two episodes."""
    rng = np.random.default_rng(0)
    u, v = rng.integers(latents.num_frames, size=(2, _SAMPLES))
    apart = latents.episode_of(u) != latents.episode_of(v)
    last = latents.episode_offsets[1:] - 1
    first = np.setdiff1d(u, last)
    across = gaps_of_pairs(latents.z, u[apart], latents.z, v[apart])
    consecutive = gaps_of_pairs(latents.z, first, latents.z, first + 1)
    if len(across) == 0 or len(consecutive) == 0:
        raise BenchmarkError(
            f"Gaps need 2 episodes of 2 frames, the corpus has {latents!r}."
        )
    return {
        "consecutive": float(np.median(consecutive)),
        "across": float(np.median(across)),
    }


def _plan(
    source: SearchConfig,
    targets: Targets,
    budgets: Mapping[str, Budget],
    seed: int,
    done: set[str],
) -> tuple[list[ResidualItem], list[str]]:
    """Return what is left to do, and the keys of all rows."""
    lab = source.open()
    try:
        targets.require(lab.model.latent_size)
        told = _describe(lab, targets, seed)
    finally:
        lab.close()
    tasks: list[ResidualItem] = []
    wanted: list[str] = []
    for target, where in zip(targets.z, targets.where, strict=True):
        row = told | {"latent": {"digest": digest_of(target)[:16], **where}}
        keys = {name: run_key(row | {"budget": name}) for name in budgets}
        left = {name: budgets[name] for name, key in keys.items() if key not in done}
        if left:
            tasks.append(ResidualItem(target, left, seed, row))
        wanted += keys.values()
    return tasks, wanted


def _describe(lab: SearchContext, targets: Targets, seed: int) -> StateColumns:
    """Return what every row says about where it comes from."""
    model = lab.model
    return {
        "benchmark": lab.benchmark.name,
        "model": {"name": model.name, "family": model.family, "digest": model.digest},
        "corpus": lab.corpus,
        "macro": None,
        "setting": None,
        **targets.told,
        "method": targets.method,
        "seed": seed,
        "parameters": list(lab.space.names),
        "gaps": typical_gaps(lab.latents),
        "rendering": model.rendering,
        "renderer": str(find_renderer(lab.benchmark)),
        "versions": library_versions() | {"commit": commit()},
    }


def _carry_out(
    source: SearchConfig, tasks: Sequence[ResidualItem], workers: int
) -> Iterator[list[StateColumns]]:
    if not tasks:
        return
    if workers == 1 or len(tasks) == 1:
        yield from _here(source, tasks)
        return
    from metro.benchmark import load_benchmark

    renderer = find_renderer(load_benchmark(source.benchmark))
    pool = ProcessPoolExecutor(
        min(workers, len(tasks)),
        mp_context=multiprocessing.get_context("spawn"),
        initializer=_open,
        initargs=(source, renderer),
    )
    try:
        waiting = {pool.submit(_work, task) for task in tasks}
        while waiting:
            ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
            for future in ready:
                yield future.result()
    except BrokenProcessPool as error:
        raise WorldError(
            "A searching process died without a word, perhaps for want of memory. The "
            "same command goes on with what was finished; try fewer workers."
        ) from error
    finally:
        pool.shutdown(wait=False, cancel_futures=True)
        for child in multiprocessing.active_children():
            child.terminate()


def _here(
    source: SearchConfig, tasks: Sequence[ResidualItem]
) -> Iterator[list[StateColumns]]:
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    lab = source.open()
    try:
        for task in tasks:
            yield _rows(lab, task)
    finally:
        lab.close()
        torch.set_num_threads(threads)


def _open(source: SearchConfig, renderer: Renderer) -> None:
    """Open the lab of a worker process; Ctrl-C is its parent's business."""
    global _lab
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    use_one_thread()
    adopt(renderer)
    _lab = source.open()


def _work(task: ResidualItem) -> list[StateColumns]:
    if _lab is None:  # the pool calls `_open` first
        raise AssertionError("a worker without a lab")
    return _rows(_lab, task)


def _rows(lab: SearchContext, task: ResidualItem) -> list[StateColumns]:
    found = lab.measure(task.target, list(task.budgets.values()), task.seed)
    return [
        task.told | {"budget": name} | row
        for name, row in zip(task.budgets, found, strict=True)
    ]
