"""Rows of files as checked values: which query was asked, and how the run ended."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

from metro.analysis.task import UNKNOWN, MethodKey, RunConfig, Task
from metro.errors import BenchmarkError, shortened
from metro.evaluation.queries import Query
from metro.evaluation.records import (
    USUAL_GRAPH_OPTIONS,
    find_record_files,
    graph_options_of,
    not_a_row,
    read_records,
)
from metro.files import has_type

PHASES = ("draw", "encode", "search", "entry", "plan", "step")
PLANNING = ("encode", "search", "entry", "plan")
"""Phases that count as planning; drawing and stepping belong to the environment."""

_PARTS = (Task, MethodKey, Query)

_NO_MODEL = {"name": "no model", "family": "none", "digest": None}


@dataclass(frozen=True)
class EpisodeResult(RunConfig):
    """One row: a query, a method and a planner seed.

    Attributes:
        step_budget: T that was run, environment steps.
        frames: Frames to success; None: not solved.
        is_trivial: Whether the start already meets the goal.
        demonstration: Frames the recording itself needs; None: not recorded.
        tags: Kinds of the query, such as ``on_table``.
        error: Why the environment died; None: it did not.
        kinds: How often each kind of sub-goal came.
        seconds: Wall time of the query by phase.
    """

    step_budget: int
    seed: int
    query: Query
    frames: int | None
    is_trivial: bool
    demonstration: int | None
    tags: tuple[str, ...]
    error: str | None
    kinds: Mapping[str, int]
    seconds: Mapping[str, float]
    commit: str
    trained_on_corpus: bool | None = None


def load_records(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Return the rows of all files, and of all files of rows in folders.

    A file that is absent or empty is an error.
    """
    rows: list[dict[str, Any]] = []
    for path in paths:
        if path.is_dir():
            rows += load_records(find_record_files(path))
            continue
        if not path.is_file():
            raise BenchmarkError(f"There is no {path}. metro evaluate writes rows.")
        found = read_records(path)
        # An empty file is more often a wrong path than a result.
        if not found:
            raise BenchmarkError(f"{path} has no rows. Run metro evaluate -o {path}.")
        rows += found
    return rows


def read_results(rows: Iterable[Mapping[str, Any]]) -> list[EpisodeResult]:
    """Return rows as results, in an order that does not depend on theirs."""
    # Sorted by content, so that a report does not depend on the order of files.
    ordered = sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))
    if not ordered:
        raise BenchmarkError("There are no rows to report. Run metro evaluate first.")
    return [_read(row) for row in _beside_models(ordered)]


def _beside_models(rows: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield rows; those without a model once for each model with the same queries.

    Random actions and replays use no model, so they are compared with every model.
    """
    models: dict[str, dict[str, Any]] = {}
    for row in rows:
        # Broken rows pass: `_read` refuses them with one sentence for all.
        if isinstance(row, Mapping) and row.get("model"):
            named = models.setdefault(_queries_of(row), {})
            # Dictionaries cannot be keys, and equal models must count once.
            named[json.dumps(row["model"], sort_keys=True)] = row["model"]
    for row in rows:
        # "" for a row without the key, which is broken and not without a model.
        if not isinstance(row, Mapping) or row.get("model", "") is not None:
            yield row
        else:
            for model in models.get(_queries_of(row), {"": _NO_MODEL}).values():
                yield {**row, "model": model}


def _queries_of(row: Mapping[str, Any]) -> str:
    """Return which queries a row is about."""
    parts = ("corpus", "queries", "benchmark", "rendering")
    return json.dumps([row.get(part) for part in parts], sort_keys=True)


def _read(row: Mapping[str, Any]) -> EpisodeResult:
    try:
        setting, query = row["setting"], Query(**row["query"])
        error, frames = row.get("error"), row["frames_to_success"]
        result = EpisodeResult(
            task=_task(row, query),
            key=_method_key(row),
            plan_blocks=int(setting["plan_blocks"]),
            waypoint_budget=setting["waypoint_budget"],
            macro_steps=setting.get("macro_steps"),
            step_budget=int(setting["step_budget"]),
            seed=int(setting["planner_seed"]),
            query=query,
            # A run whose environment died counts as not solved, whatever it says.
            frames=None if error or frames is None else int(frames),
            is_trivial=bool(row["is_presolved"]),
            demonstration=row.get("demonstration_frames"),
            tags=tuple(row.get("tags") or ()),
            error=error,
            kinds=row.get("kinds") or {},
            seconds=_seconds(row.get("seconds") or {}),
            commit=_commit(row.get("versions") or {}),
            graph=row.get("graph"),
            macro=(row.get("macro") or {}).get("digest"),
            trained_on_corpus=row.get("trained_on_corpus"),
        )
        for part in (result, result.task, result.key):
            _require_types(part)
        return result
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        text = json.dumps(row, sort_keys=True)
        raise not_a_row("metro evaluate", text, problem) from None


def _require_types(part: EpisodeResult | Task | MethodKey) -> None:
    """Raise TypeError unless plain values are what their annotations say."""
    whole: Any = type(part)
    for name, kind in _kinds(whole).items():
        if not has_type(getattr(part, name), kind):
            raise TypeError(f"{name} is {shortened(repr(getattr(part, name)))}")


@cache
def _kinds(part: type) -> dict[str, Any]:
    """Return the annotations of a dataclass, without those that are its parts."""
    kinds = get_type_hints(part)
    return {name: kind for name, kind in kinds.items() if kind not in _PARTS}


def _method_key(row: Mapping[str, Any]) -> MethodKey:
    """Return the method of a row; graph options only where they are not the usual."""
    setting, graph = row["setting"], graph_options_of(row) or {}
    unusual = {
        name: value
        for name, value in graph.items()
        if name in USUAL_GRAPH_OPTIONS and value != USUAL_GRAPH_OPTIONS[name]
    }
    return MethodKey(str(setting["method"]), setting.get("option") or None, **unusual)


def _task(row: Mapping[str, Any], query: Query) -> Task:
    model, corpus = row["model"], row["corpus"]
    # Older rows do not name their query file.
    queries = row.get("queries") or {}
    digests = [str(part.get("digest") or UNKNOWN) for part in (model, corpus, queries)]
    return Task(
        benchmark=str(row["benchmark"]),
        # Older rows have no family; names of models begin with it.
        family=str(model.get("family") or str(model["name"]).split("-")[0]),
        goal_distance=query.goal_distance,
        model=str(model["name"]),
        corpus=str(corpus["name"]),
        queries=str(queries.get("name") or UNKNOWN),
        rendering=str(row.get("rendering") or UNKNOWN),
        digests=(digests[0], digests[1], digests[2]),
        episodes=corpus.get("episodes"),
    )


def _seconds(seconds: Mapping[str, float]) -> dict[str, float]:
    """Return seconds by phase; rows of older versions say guide for entry."""
    spent = {**seconds}
    spent["entry"] = spent.get("entry", 0.0) + spent.pop("guide", 0.0)
    return {phase: float(spent.get(phase, 0.0)) for phase in PHASES}


def _commit(versions: Mapping[str, str]) -> str:
    commit = versions.get("commit")
    if commit:
        return short_commit(str(commit))
    # An installed package has no commit; its release is the next best.
    release = versions.get("metro-wm") or versions.get("metro")
    return UNKNOWN if release is None else f"{UNKNOWN} (release {release})"


def short_commit(commit: str) -> str:
    """Return nine letters of a commit."""
    # The + marks changed source; cutting the hash must not hide that.
    return commit[:9] + ("+" if commit.endswith("+") else "")
