"""Which latents are measured: sub-goals of planners, and two controls.

Decision: D25.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metro.core.latents import Latents
from metro.errors import BenchmarkError, LatentsError
from metro.planners.methods.metro import METRO
from metro.planners.methods.random import RANDOM
from metro.planners.methods.registry import method_names
from metro.studies.residual.sub_goals import SubGoals
from metro.types import LatentArray, Vector

PLANNERS = (*method_names(needs_macro=True), METRO.name)
CONTROLS = ("recorded", RANDOM.name)
"""Of all kinds, fewer latents are the first of more, so that rows can be added to."""
SOURCES = (*PLANNERS, *CONTROLS)


@dataclass(frozen=True, eq=False)
class Targets:
    """Latents to measure, and what rows say of each.

    Attributes:
        method: Where they are from, one of `SOURCES`.
        z: ``[n, D]``.
        where: Of each: query and step, frame, or number.
        told: What rows say of all.
    """

    method: str
    z: LatentArray
    where: Sequence[dict[str, int]]
    told: dict[str, Any]

    def require(self, dim: int) -> None:
        """Raise `LatentsError` unless they have ``dim`` finite numbers."""
        if self.z.ndim != 2 or self.z.shape[1] != dim or not np.isfinite(self.z).all():
            raise LatentsError(
                f"The model's latents have {dim} finite numbers, those of "
                f"{self.method} have shape {self.z.shape}. Use those of this model."
            )


def require_source(method: str) -> None:
    """Raise `BenchmarkError` if nobody knows the method."""
    if method not in SOURCES:
        raise BenchmarkError(
            f"method must be one of {', '.join(SOURCES)}, got {method!r}."
        )


def recorded_targets(latents: Latents, *, count: int, seed: int) -> Targets:
    """Return recorded frames, drawn evenly: their residual is 0."""
    _require_count(count, latents.num_frames, "recorded frames")
    rng = np.random.default_rng([seed, 1])
    frames = rng.permutation(latents.num_frames)[:count]
    where = [{"frame": int(frame)} for frame in frames]
    return Targets("recorded", latents.z[frames], where, {})


def random_targets(latents: Latents, *, count: int, seed: int) -> Targets:
    """Return latents of the normal distribution with the corpus' mean and covariance.

    They lie where recorded ones lie, as far as two moments can tell.
    """
    _require_count(count, 10**6, "random latents")
    rows = latents.z.astype(np.float64)
    values, vectors = np.linalg.eigh(np.cov(rows.T))
    noise = np.random.default_rng([seed, 2]).standard_normal((count, latents.dim))
    drawn = rows.mean(axis=0) + (noise * np.sqrt(np.maximum(values, 0))) @ vectors.T
    where = [{"number": number} for number in range(count)]
    return Targets(RANDOM.name, drawn.astype(np.float32), where, {})


def sub_goal_targets(found: SubGoals, *, count: int, seed: int) -> Targets:
    """Return some of a planner's sub-goals, drawn evenly."""
    _require_count(count, len(found.latents), "sub-goals in these runs")
    rng = np.random.default_rng([seed, 3])
    kept = rng.permutation(len(found.latents))[:count]
    names = ("episode", "start", "goal", "step")
    where = [
        dict(zip(names, map(int, found.where[row]), strict=True)) | {"row": int(row)}
        for row in kept
    ]
    told = {name: found.provenance[name] for name in ("macro", "setting", "graph")}
    method = str(found.provenance["setting"]["method"])
    return Targets(method, found.latents[kept], where, told)


def digest_of(latent: Vector) -> str:
    """Return the sha256 of a latent's float32 bytes."""
    return hashlib.sha256(np.ascontiguousarray(latent, np.float32).data).hexdigest()


def _require_count(count: int, there_are: int, what: str) -> None:
    if not 1 <= count <= there_are:
        raise BenchmarkError(
            f"count must be 1 to {there_are}, as many {what} there are; got {count}."
        )
