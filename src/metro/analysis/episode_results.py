"""Rows of JSONL files as checked values: what was asked, and how it went."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metro.errors import BenchmarkError
from metro.evaluation.queries import Query
from metro.evaluation.records import (
    USUAL_GRAPH_OPTIONS,
    find_record_files,
    graph_options_of,
    read_records,
)

UNKNOWN = "not recorded"
PHASES = ("draw", "encode", "search", "entry", "plan", "step")
PLANNING = ("encode", "search", "entry", "plan")
"""Phases that are planning; drawing and stepping are the environment's."""

_NO_MODEL = {"name": "no model", "family": "none", "digest": None}


@dataclass(frozen=True, order=True)
class Task:
    """What methods are compared on: rows of one task answer the same queries.

    Attributes:
        benchmark: Such as ``tworoom``.
        family: Of the world model: ``lewm``, ``pldm``.
        goal_distance: d, frames.
        model: Its name.
        corpus: Its name.
        queries: The query file's name.
        rendering: How frames were drawn.
        digests: Of model, corpus and queries.
        episodes: Of the corpus; None: not recorded.
    """

    benchmark: str
    family: str
    goal_distance: int
    model: str
    corpus: str
    queries: str
    rendering: str
    digests: tuple[str, str, str] = field(repr=False)
    episodes: int | None = field(default=None, compare=False)

    @property
    def recordings(self) -> str:
        """Which corpus, and how many episodes it has."""
        name = Path(self.corpus).stem
        return name if self.episodes is None else f"{name}, {self.episodes:,} episodes"

    @property
    def title(self) -> str:
        """What to call the task, if there is one corpus of its benchmark only."""
        return f"{self.benchmark}, {self.family}, d = {self.goal_distance}"


@dataclass(frozen=True)
class EpisodeResult:
    """One row: a query, a method and a planner seed.

    Attributes:
        task: What was asked.
        method: Such as ``metro``; in brackets its option, and k or α of a graph that
            departs from the paper's.
        plan_blocks: h.
        waypoint_budget: H; None for methods without a graph.
        macro_steps: h_h; None for methods without macro actions.
        step_budget: T that was run.
        seed: Of the planner.
        query: From where to where.
        frames: Frames to success; None: not solved.
        is_presolved: Whether the start already meets the goal.
        demonstration: Frames the recording itself needs; None: not recorded.
        tags: Such as ``on_table``.
        error: Why the environment died; None: it did not.
        kinds: How often each kind of sub-goal came.
        seconds: Wall time of the query by phase.
        commit: Of the code that planned it.
        graph: Digest of the graph's latents; None: no graph.
        macro: Digest of the macro model; None: no such model.
        trained_on_corpus: Whether the model has seen these recordings; None: unknown.
    """

    task: Task
    method: str
    plan_blocks: int
    waypoint_budget: int | None
    macro_steps: int | None
    step_budget: int
    seed: int
    query: Query
    frames: int | None
    is_presolved: bool
    demonstration: int | None
    tags: tuple[str, ...]
    error: str | None
    kinds: Mapping[str, int]
    seconds: Mapping[str, float]
    commit: str
    graph: str | None
    macro: str | None
    trained_on_corpus: bool | None = None


def load_records(paths: Iterable[Path]) -> list[dict[str, Any]]:
    """Return the rows of all files, and of all files of rows in folders.

    A file that is absent or empty is an error.
    """
    rows: list[dict[str, Any]] = []
    for path in _files(paths):
        if not path.is_file():
            raise BenchmarkError(f"There is no {path}. metro evaluate writes rows.")
        found = read_records(path)
        if not found:
            raise BenchmarkError(f"{path} has no rows. Run metro evaluate -o {path}.")
        rows += found
    return rows


def _files(paths: Iterable[Path]) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from find_record_files(path)
        else:
            yield path


def read_outcomes(rows: Iterable[Mapping[str, Any]]) -> list[EpisodeResult]:
    """Return rows as outcomes, in an order that does not depend on theirs.

    Raises:
        BenchmarkError: For the first row that lacks something, or if there is none.
    """
    ordered = sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))
    if not ordered:
        raise BenchmarkError("There are no rows to report. Run metro evaluate first.")
    return [_read(row) for row in _beside_models(ordered)]


def _beside_models(rows: Sequence[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield rows; those without a model once for each model asked the same queries.

    Floors and replays do not look: they belong beside every model.
    """
    models: dict[str, dict[str, Any]] = {}
    for row in rows:
        if isinstance(row, Mapping) and row.get("model"):
            named = models.setdefault(_asked(row), {})
            named[json.dumps(row["model"], sort_keys=True)] = row["model"]
    for row in rows:
        if not _is_blind(row):
            yield row
        else:
            for model in models.get(_asked(row), {"": _NO_MODEL}).values():
                yield {**row, "model": model}


def _is_blind(row: Mapping[str, Any]) -> bool:
    """Return whether a row says that no model was used; broken rows do not."""
    return isinstance(row, Mapping) and "model" in row and row["model"] is None


def _asked(row: Mapping[str, Any]) -> str:
    """Return which queries a row is about."""
    parts = ("corpus", "queries", "benchmark", "rendering")
    return json.dumps([row.get(part) for part in parts], sort_keys=True)


def _read(row: Mapping[str, Any]) -> EpisodeResult:
    try:
        setting, query = row["setting"], Query(**row["query"])
        error = row.get("error")
        return EpisodeResult(
            task=_task(row, query),
            method=_method(row),
            plan_blocks=int(setting["plan_blocks"]),
            waypoint_budget=setting["waypoint_budget"],
            macro_steps=setting.get("macro_steps"),
            step_budget=int(setting["step_budget"]),
            seed=int(setting["planner_seed"]),
            query=query,
            frames=None if error else _whole(row["frames_to_success"]),
            is_presolved=bool(row["is_presolved"]),
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
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise BenchmarkError(
            f"This is not a row of metro evaluate ({type(problem).__name__}: "
            f"{problem}): {json.dumps(row, sort_keys=True)[:80]}. Remove it."
        ) from None


def _whole(frames: Any) -> int | None:
    """Return frames as they must be: a whole number, or None."""
    return None if frames is None else int(frames)


def _method(row: Mapping[str, Any]) -> str:
    """Return the method with what was chosen otherwise than usual in brackets."""
    setting = row["setting"]
    graph, usual = graph_options_of(row) or {}, USUAL_GRAPH_OPTIONS
    letters = {"num_neighbours": "k", "quantile": "α"}
    chosen = [setting["option"]] if setting.get("option") else []
    chosen += [
        f"{letters[name]} = {graph[name]:g}"
        for name in letters
        if name in graph and graph[name] != usual[name]
    ]
    return str(setting["method"]) + (f" ({', '.join(chosen)})" if chosen else "")


def _task(row: Mapping[str, Any], query: Query) -> Task:
    model, corpus = row["model"], row["corpus"]
    queries = row.get("queries") or {}
    digests = [str(part.get("digest") or UNKNOWN) for part in (model, corpus, queries)]
    return Task(
        benchmark=str(row["benchmark"]),
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
        # A + says that the source was changed after the commit.
        return str(commit)[:9] + ("+" if str(commit).endswith("+") else "")
    release = versions.get("metro-wm") or versions.get("metro")
    return UNKNOWN if release is None else f"{UNKNOWN} (release {release})"
