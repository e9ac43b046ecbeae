"""Sub-goals of a planner along evaluation runs, collected once and kept on disk."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.errors import BenchmarkError, StorageError, short
from metro.evaluation.batch import make_micro_planner, make_rollouts
from metro.evaluation.context import EvalContext
from metro.evaluation.metadata import row_metadata
from metro.evaluation.queries import Query, QuerySet
from metro.evaluation.records import Setting
from metro.evaluation.rollout import run_rollouts
from metro.evaluation.run import check_queries
from metro.planners.closed_loop import SubgoalSelector
from metro.storage.atomic import write_atomically
from metro.types import LatentArray, Progress, Vector

_GOAL = "goal"
"""How words for the goal itself begin; it is no sub-goal."""


class RecordingSelector:
    """Passes on what another selector returns, and keeps every new sub-goal.

    Implements `metro.planners.closed_loop.SubgoalSelector`.
    """

    def __init__(self, selector: SubgoalSelector) -> None:
        self._selector = selector
        self.sub_goals: list[tuple[Vector, Vector, int]] = []
        """Sub-goal, observation and step of each, the goal itself left out."""

    def __call__(self, observed: Vector, step: int) -> tuple[Vector, str]:
        """Return what the other selector returns."""
        target, kind = self._selector(observed, step)
        # Held for many steps: counted each time, slow sub-goals would weigh more.
        is_new = not self.sub_goals or not np.array_equal(self.sub_goals[-1][0], target)
        if is_new and not kind.startswith(_GOAL):
            # Copies, since the caller may reuse its arrays.
            self.sub_goals.append((np.array(target), np.array(observed), step))
        return target, kind


@dataclass(frozen=True, eq=False)
class SubGoals:
    """What micro planners were asked to reach.

    Attributes:
        latents: ``[n, D]``.
        observed: ``[n, D]`` what was seen when each was issued.
        where: ``[n, 4]`` episode, start and goal of the query, and frames since start.
        provenance: Model, corpus, method, setting, queries.
    """

    latents: LatentArray
    observed: LatentArray
    where: NDArray[np.int64]
    provenance: dict[str, Any]


def collect_sub_goals(
    context: EvalContext,
    setting: Setting,
    queries: QuerySet,
    folder: Path,
    *,
    progress: Progress | None = None,
) -> SubGoals:
    """Return the sub-goals of all queries; planned once, then read from ``folder``."""
    context.check(setting, queries)
    check_queries(context.corpus, queries)
    provenance = _provenance(context, setting, queries)
    # Named by what it is made from: another model or query set finds no old file.
    name = hashlib.sha256(json.dumps(provenance, sort_keys=True).encode()).hexdigest()
    path = folder / f"{context.benchmark.name}-{setting.method}-{short(name)}.npz"
    if not path.exists():
        _save(_collect(context, setting, queries, provenance, progress), path)
    # Read back even if just made: first and later runs measure the same bytes.
    return load_sub_goals(path)


def load_sub_goals(path: Path) -> SubGoals:
    """Return the sub-goals of a file."""
    try:
        with np.load(path) as file:
            provenance = json.loads(str(file["provenance"]))
            return SubGoals(
                file["latents"], file["observed"], file["where"], provenance
            )
    except (OSError, ValueError, KeyError) as error:
        raise StorageError(
            f"{path} has no sub-goals ({error}). Delete it, and run again."
        ) from error


def _save(found: SubGoals, path: Path) -> None:
    # In memory first, so that the file appears whole or not at all.
    content = BytesIO()
    np.savez_compressed(
        content,
        latents=found.latents,
        observed=found.observed,
        where=found.where,
        provenance=json.dumps(found.provenance),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, content.getvalue())


def _provenance(
    context: EvalContext, setting: Setting, queries: QuerySet
) -> dict[str, Any]:
    metadata = row_metadata(context, queries, setting)
    # Without versions, else every commit would plan all runs again.
    kept = ("benchmark", "model", "corpus", "macro", "graph", "rendering")
    return {name: metadata[name] for name in kept} | {
        "setting": vars(setting),
        "queries": [query.to_json() for query in queries],
    }


def _collect(
    context: EvalContext,
    setting: Setting,
    queries: QuerySet,
    provenance: dict[str, Any],
    progress: Progress | None,
) -> SubGoals:
    planned: Sequence[Query] = list(queries)
    rollouts = make_rollouts(context, setting, planned)
    recorders = [RecordingSelector(rollout.selector) for rollout in rollouts]
    for rollout, recorder in zip(rollouts, recorders, strict=True):
        rollout.selector = recorder
    micro_planner = make_micro_planner(context, setting, planned)
    run_rollouts(
        rollouts, micro_planner, step_budget=setting.step_budget, progress=progress
    )
    # An environment that failed once may be broken for the next query too.
    context.envs.discard(*(a.env for a in rollouts if a.error is not None))
    found = [
        (latent, observed, [query.episode, query.start, query.goal, step])
        for query, recorder in zip(planned, recorders, strict=True)
        for latent, observed, step in recorder.sub_goals
    ]
    if not found:
        raise BenchmarkError(
            f"{setting.method} issued no sub-goals but the goal itself in "
            f"{len(planned)} queries. Ask for more queries, or for farther goals."
        )
    latents, observed, where = (np.array(part) for part in zip(*found, strict=True))
    # The precision of recorded latents: metro's sub-goals then equal their frames.
    return SubGoals(
        latents.astype(np.float32), observed.astype(np.float32), where, provenance
    )
