"""Which latents are measured: sub-goals of planners, and two controls.

Decision: D25.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from metro.core.latents import Latents
from metro.errors import BenchmarkError, LatentsError
from metro.evaluation.context import EvalConfig
from metro.evaluation.draw_queries import find_queries
from metro.evaluation.settings import choose_settings
from metro.models.loading import load_frozen
from metro.planners.hierarchical.hierarchy import require_macro
from metro.planners.methods.metro import METRO
from metro.planners.methods.random import RANDOM
from metro.planners.methods.registry import find_method, method_names
from metro.storage.artefacts import load
from metro.studies.residual.sub_goals import SubGoals, collect_sub_goals
from metro.types import LatentArray, Progress, Vector

PLANNERS = (*method_names(needs_macro=True), METRO.name)
RECORDED = "recorded"
CONTROLS = (RECORDED, RANDOM.name)
SOURCES = (*PLANNERS, *CONTROLS)
# The first of the paper's planner seeds 7, 8 and 9.
_PLANNER_SEED = 7


@dataclass(frozen=True)
class TargetConfig:
    """Which latents are measured; ``metro residual --help`` explains them.

    The first of many latents are the few of a smaller count, so that rows can be added
    later.
    """

    method: str
    count: int
    seed: int = 0
    goal_distance: int = 75
    num_queries: int = 10
    folder: Path = Path("out/sub-goals")
    step_budget: int | None = None
    queries: Path | None = None
    plan_blocks: int | None = None
    waypoint_budget: int | None = None
    macro_steps: int | None = None

    def __post_init__(self) -> None:
        if self.method not in SOURCES:
            raise BenchmarkError(
                f"method must be one of {', '.join(SOURCES)}, got {self.method!r}."
            )
        for name, least in (("seed", 0), ("num_queries", 1)):
            if (value := getattr(self, name)) < least:
                raise BenchmarkError(f"{name} must be at least {least}, got {value}.")


@dataclass(frozen=True, eq=False)
class Targets:
    """Latents to measure, and what rows say of each.

    Attributes:
        method: Where they come from, one of `SOURCES`.
        z: ``[n, D]``.
        where: For each latent its query and step, its frame, or its number.
        metadata: What rows say of all of them.
    """

    method: str
    z: LatentArray
    where: Sequence[dict[str, int]]
    metadata: dict[str, Any]

    def require(self, dim: int) -> None:
        """Raise `LatentsError` unless they have ``dim`` finite numbers."""
        if self.z.ndim != 2 or self.z.shape[1] != dim or not np.isfinite(self.z).all():
            raise LatentsError(
                f"The model's latents have {dim} finite numbers, those of "
                f"{self.method} have shape {self.z.shape}. Use those of this model."
            )


def find_targets(
    source: EvalConfig,
    latents: Path,
    config: TargetConfig,
    *,
    progress: Progress | None = None,
) -> Targets:
    """Return the latents to measure; runs are planned once and kept.

    Controls are drawn from ``latents``, a file of latents or a graph of the corpus.
    Progress is in environment steps of the runs.
    """
    if config.method in CONTROLS:
        loaded = load(latents)
        draw = recorded_targets if config.method == RECORDED else random_targets
        every: Latents = getattr(loaded, "latents", loaded)
        return draw(every, count=config.count, seed=config.seed)
    found = find_sub_goals(source, config, progress=progress)
    return sub_goal_targets(found, count=config.count, seed=config.seed)


def find_sub_goals(
    source: EvalConfig, config: TargetConfig, *, progress: Progress | None = None
) -> SubGoals:
    """Return all sub-goals of the runs; they are planned once and kept."""
    method = find_method(config.method)
    if method.needs_macro and source.macro is None:
        # Called for its error, which says how to train a macro model.
        require_macro(
            config.method,
            None,
            load_frozen(source.model, trust_pickle=source.trust_pickle),
        )
    (setting,) = choose_settings(
        source,
        config.method,
        goal_distance=config.goal_distance,
        plan_blocks=config.plan_blocks,
        # H of a method without a graph is ignored here, not refused.
        waypoint_budget=config.waypoint_budget if method.needs_graph else None,
        step_budget=config.step_budget,
        planner_seeds=[_PLANNER_SEED],
        macro_steps=config.macro_steps,
    )
    queries = find_queries(source.benchmark, config.goal_distance, config.queries)
    kept = replace(queries, queries=queries.queries[: config.num_queries])
    with source.open() as context:
        return collect_sub_goals(
            context, setting, kept, config.folder, progress=progress
        )


def recorded_targets(latents: Latents, *, count: int, seed: int) -> Targets:
    """Return recorded frames, drawn uniformly: their residual is 0."""
    _require_count(count, latents.num_frames, "recorded frames")
    # 1, 2 and 3 keep the three sources apart: with one seed they would share numbers.
    rng = np.random.default_rng([seed, 1])
    # The beginning of a permutation: a larger count only adds frames.
    frames = rng.permutation(latents.num_frames)[:count]
    where = [{"frame": int(frame)} for frame in frames]
    return Targets(RECORDED, latents.z[frames], where, {})


def random_targets(latents: Latents, *, count: int, seed: int) -> Targets:
    """Return latents of the normal distribution with the corpus' mean and covariance.

    Their first two moments are those of recorded latents.
    """
    # No corpus limits these; a slip of the hand must not fill the memory.
    _require_count(count, 10**6, "random latents")
    # Double precision: small eigenvalues would drown in the rounding of float32.
    rows = latents.z.astype(np.float64)
    values, vectors = np.linalg.eigh(np.cov(rows.T))
    noise = np.random.default_rng([seed, 2]).standard_normal((count, latents.dim))
    drawn = rows.mean(axis=0) + (noise * np.sqrt(np.maximum(values, 0))) @ vectors.T
    where = [{"number": number} for number in range(count)]
    return Targets(RANDOM.name, drawn.astype(np.float32), where, {})


def sub_goal_targets(found: SubGoals, *, count: int, seed: int) -> Targets:
    """Return some of a planner's sub-goals, drawn uniformly."""
    _require_count(count, len(found.latents), "sub-goals in these runs")
    rng = np.random.default_rng([seed, 3])
    kept = rng.permutation(len(found.latents))[:count]
    names = ("episode", "start", "goal", "step")
    where = [
        dict(zip(names, map(int, found.where[row]), strict=True)) | {"row": int(row)}
        for row in kept
    ]
    metadata = {name: found.provenance[name] for name in ("macro", "setting", "graph")}
    method = str(found.provenance["setting"]["method"])
    return Targets(method, found.latents[kept], where, metadata)


def digest_of(latent: Vector) -> str:
    """Return the sha256 of a latent's float32 bytes."""
    # Contiguous, for hashlib takes no array with strides.
    return hashlib.sha256(np.ascontiguousarray(latent, np.float32).data).hexdigest()


def _require_count(count: int, there_are: int, what: str) -> None:
    if not 1 <= count <= there_are:
        raise BenchmarkError(
            f"count must be 1 to {there_are}, as many {what} there are; got {count}."
        )
