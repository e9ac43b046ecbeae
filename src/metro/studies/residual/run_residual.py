"""Measures many latents with several processes, and resumes."""

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from metro.benchmark import load_benchmark
from metro.core.latents import Latents
from metro.data.collect.spec import library_versions
from metro.data.collect.workers import use_one_thread
from metro.envs.rendering import Renderer, adopt, find_renderer
from metro.errors import BenchmarkError
from metro.evaluation.context import EvalConfig
from metro.evaluation.records import (
    append_records,
    by_key,
    read_records,
    require_writable,
)
from metro.kernels.neighbours.gaps import gaps_of_pairs
from metro.models.trainer import torch_threads
from metro.pool import run_tasks
from metro.studies.residual.figure import draw_pictures
from metro.studies.residual.measure import SearchContext
from metro.studies.residual.state_search import Budget, find_budget
from metro.studies.residual.targets import (
    TargetConfig,
    Targets,
    digest_of,
    find_targets,
)
from metro.types import Progress, ProgressBar, Vector
from metro.version import commit

# A median of so many is within about 2 % of the gaps' spread.
_SAMPLES = 5_000


@dataclass(frozen=True)
class ResidualConfig:
    """What the study measures: the options of ``metro residual``.

    Budgets are names of `metro.studies.residual.state_search.BUDGETS`.
    """

    source: EvalConfig
    latents: Path
    output: Path
    targets: TargetConfig
    budgets: Sequence[str] = ("small",)
    workers: int = 1
    pictures: Path | None = None


def run(config: ResidualConfig, bar: ProgressBar) -> list[dict[str, Any]]:
    """Find the latents, measure those that have no row yet; return the rows of all."""
    method = config.targets.method
    with bar(f"Running {method}") as progress:
        targets = find_targets(
            config.source, config.latents, config.targets, progress=progress
        )
    with bar(f"Residuals of {method}") as progress:
        rows = measure_residuals(config, targets, progress)
    if config.pictures is not None:
        draw_pictures(rows, config.source, config.targets, config.pictures)
    return rows


class _Task(NamedTuple):
    """One latent, the budgets that lack a row, and the metadata of its rows."""

    target: Vector
    budgets: Mapping[str, Budget]
    metadata: dict[str, Any]


def measure_residuals(
    config: ResidualConfig, targets: Targets, progress: Progress | None = None
) -> list[dict[str, Any]]:
    """Measure every latent with every budget; append rows to the file, return them.

    Rows that the file already has are not measured again. A latent is searched for by
    one process with one thread and random numbers of its own, so the number of
    workers changes nothing.
    """
    if config.workers < 1:
        raise BenchmarkError(f"workers must be at least 1, got {config.workers}.")
    budgets = {name: find_budget(name) for name in config.budgets}
    done = by_key(read_records(config.output), run_key)
    # Checked now: a file that cannot be written must not cost hours of search.
    require_writable(config.output)
    tasks, wanted = _plan(config, targets, budgets, set(done))
    # Closed whatever happens: worker processes would outlive an error here.
    with closing(_measure(config, tasks)) as measured:
        for rows in measured:
            # Per latent, so that an interruption costs one search at most.
            append_records(rows, config.output)
            done |= {run_key(row): row for row in rows}
            if progress is not None:
                progress(sum(key in done for key in wanted), len(wanted))
    return [done[key] for key in wanted]


def run_key(row: Mapping[str, Any]) -> str:
    """Return what a row measures: rows of equal keys are the same measurement."""
    # Versions are no part of it: a new commit resumes old rows, and reports name both.
    names = ("benchmark", "method", "latent", "budget", "seed", "rendering", "setting")
    digests = [
        (row.get(part) or {}).get("digest") for part in ("model", "corpus", "macro")
    ]
    return json.dumps([*(row.get(name) for name in names), *digests], sort_keys=True)


def typical_gaps(latents: Latents) -> dict[str, float]:
    """Return the median gap of consecutive frames, and of frames of two episodes."""
    # A fixed seed: rows of one corpus must agree on its typical gaps.
    rng = np.random.default_rng(0)
    u, v = rng.integers(latents.num_frames, size=(2, _SAMPLES))
    apart = latents.episode_of(u) != latents.episode_of(v)
    last = latents.episode_offsets[1:] - 1
    # The last frame of an episode has no next one.
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
    config: ResidualConfig,
    targets: Targets,
    budgets: Mapping[str, Budget],
    done: set[str],
) -> tuple[list[_Task], list[str]]:
    """Return what is left to do, and the keys of all rows."""
    with closing(SearchContext(config.source, config.latents)) as context:
        targets.require(context.model.latent_size)
        metadata = _metadata(context, targets, config.targets.seed)
    tasks: list[_Task] = []
    wanted: list[str] = []
    for target, where in zip(targets.z, targets.where, strict=True):
        row = metadata | {"latent": {"digest": digest_of(target)[:16], **where}}
        keys = {name: run_key(row | {"budget": name}) for name in budgets}
        left = {name: budgets[name] for name, key in keys.items() if key not in done}
        if left:
            tasks.append(_Task(target, left, row))
        wanted += keys.values()
    return tasks, wanted


def _metadata(context: SearchContext, targets: Targets, seed: int) -> dict[str, Any]:
    """Return what every row says about where it comes from."""
    model = context.model
    return {
        "benchmark": context.benchmark.name,
        "model": {"name": model.name, "family": model.family, "digest": model.digest},
        "corpus": context.corpus,
        "macro": None,
        "setting": None,
        **targets.metadata,
        "method": targets.method,
        "seed": seed,
        "parameters": list(context.space.names),
        "gaps": typical_gaps(context.latents),
        "rendering": model.rendering,
        "renderer": str(find_renderer(context.benchmark)),
        "versions": library_versions() | {"commit": commit()},
    }


def _measure(
    config: ResidualConfig, tasks: Sequence[_Task]
) -> Generator[list[dict[str, Any]], None, None]:
    """Yield the rows of every task, from this process or from several."""
    source, latents = config.source, config.latents
    # For one task, starting a process costs more than it saves.
    if len(tasks) > 1 and config.workers > 1:
        # The renderer is chosen once: pictures of two renderers could differ.
        renderer = find_renderer(load_benchmark(source.benchmark))
        yield from run_tasks(
            _rows,
            tasks,
            open_context=_open,
            arguments=(source, latents, renderer),
            workers=config.workers,
        )
    elif tasks:
        # One thread as in a worker: sums in another order could differ in the last bit.
        with torch_threads(1), closing(SearchContext(source, latents)) as context:
            for task in tasks:
                yield _rows(context, task)


def _open(source: EvalConfig, latents: Path, renderer: Renderer) -> SearchContext:
    """Return the context of a worker process."""
    use_one_thread()
    adopt(renderer)
    return SearchContext(source, latents)


def _rows(context: SearchContext, task: _Task) -> list[dict[str, Any]]:
    target, budgets, row = task
    found = context.measure(target, list(budgets.values()), row["seed"])
    return [
        row | {"budget": name} | measured
        for name, measured in zip(budgets, found, strict=True)
    ]
