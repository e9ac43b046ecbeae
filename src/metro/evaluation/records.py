"""Rows: one JSON object a query and planner seed, appended to a JSONL file."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from metro.core.neighbours import DEFAULT_NEIGHBOURS
from metro.core.pricing import DEFAULT_QUANTILE
from metro.errors import BenchmarkError
from metro.evaluation.queries import Query
from metro.planners.method_names import (
    GRAPH_METHODS,
    HIERARCHICAL_METHODS,
    METHODS,
    OPTIONS,
)

USUAL_GRAPH_OPTIONS: dict[str, float] = {
    "num_neighbours": DEFAULT_NEIGHBOURS,
    "quantile": DEFAULT_QUANTILE,
}
"""k and α, which the paper does not tune."""

LARGEST_PLAN = 60
"""Action blocks; more is a mistake."""


@dataclass(frozen=True)
class Setting:
    """How queries are planned.

    Attributes:
        method: One of `METHODS`.
        plan_blocks: h, action blocks of a micro plan.
        waypoint_budget: H, frames; None for methods without a graph.
        step_budget: T, environment steps.
        planner_seed: Of the micro planner's random numbers.
        macro_steps: h_h of the hierarchical methods; None for the others.
        option: One of the method's `OPTIONS`; None: the authors' way.
    """

    method: str
    plan_blocks: int
    waypoint_budget: int | None
    step_budget: int
    planner_seed: int
    macro_steps: int | None = None
    option: str | None = None

    def __post_init__(self) -> None:
        if self.method not in METHODS:
            raise BenchmarkError(
                f"method must be one of {', '.join(METHODS)}, got {self.method!r}."
            )
        if (self.waypoint_budget is None) == (self.method in GRAPH_METHODS):
            raise BenchmarkError(
                f"waypoint_budget belongs to {' and '.join(GRAPH_METHODS)}, and only "
                f"to them; got {self.waypoint_budget} for {self.method}."
            )
        if (self.macro_steps is None) == (self.method in HIERARCHICAL_METHODS):
            raise BenchmarkError(
                f"macro_steps belongs to {', '.join(HIERARCHICAL_METHODS)}, and only "
                f"to them; got {self.macro_steps} for {self.method}."
            )
        if self.option is not None and self.option not in OPTIONS.get(self.method, ()):
            known = [f"{name}: {', '.join(some)}" for name, some in OPTIONS.items()]
            raise BenchmarkError(
                f"{self.method} has no option {self.option!r}. There are "
                f"{'; '.join(known)}."
            )
        if self.planner_seed < 0:
            raise BenchmarkError(
                f"planner_seed must be 0 or more, got {self.planner_seed}."
            )
        ranges = {"plan_blocks": LARGEST_PLAN, "step_budget": 100_000}
        if self.macro_steps is not None:
            ranges["macro_steps"] = LARGEST_PLAN
        for name, largest in ranges.items():
            if not 1 <= getattr(self, name) <= largest:
                raise BenchmarkError(
                    f"{name} must be 1 to {largest}, got {getattr(self, name)}."
                )

    def seed_of(self, query: Query) -> int:
        """Return the seed of a query's own random numbers."""
        parts = [self.planner_seed, query.episode, query.start, query.goal]
        return int(np.random.SeedSequence(parts).generate_state(1)[0])


def run_key(row: Mapping[str, Any]) -> str:
    """Return what a row answers: the same key, the same question."""
    names = ("benchmark", "setting", "query", "rendering", "graph")
    parts = ("model", "corpus", "macro", "queries")
    digests = [(row.get(name) or {}).get("digest") for name in parts]
    told = [row.get(name) for name in names]
    return json.dumps([*told, *digests, graph_options_of(row)], sort_keys=True)


def graph_options_of(row: Mapping[str, Any]) -> dict[str, float] | None:
    """Return k and α of a row's graph; rows that do not tell have the defaults."""
    if row.get("graph") is None:
        return None
    options: dict[str, float] = row.get("graph_options") or USUAL_GRAPH_OPTIONS
    return options


def to_json(setting: Setting, query: Query) -> dict[str, Any]:
    """Return a setting and a query as the row has them."""
    told = asdict(setting)
    for name in ("macro_steps", "option"):
        if told[name] is None:
            del told[name]
    return {"setting": told, "query": query.to_json()}


def require_writable(path: Path) -> None:
    """Raise `BenchmarkError` if rows could not be appended: before they cost hours."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a"):
            pass
    except OSError as error:
        raise BenchmarkError(
            f"{path} cannot be written ({error.strerror}). Choose another file."
        ) from error


def append_records(rows: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Append rows to a JSONL file; on disk when this returns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    _mend_the_last_line(path)
    with path.open("a") as file:
        for row in rows:
            file.write(json.dumps(row, sort_keys=True) + "\n")
        file.flush()
        os.fsync(file.fileno())


def _mend_the_last_line(path: Path) -> None:
    """End a whole last line; remove what a kill left of a row."""
    if not path.exists():
        return
    read_records(path)  # a file of something else is refused, and left as it is
    text = path.read_bytes()
    whole = text.rfind(b"\n") + 1
    if whole == len(text):
        return
    with path.open("r+b") as file:
        if _is_row(text[whole:]):
            file.seek(0, os.SEEK_END)
            file.write(b"\n")
        else:
            file.truncate(whole)


def _is_row(line: bytes) -> bool:
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def read_records(path: Path) -> list[dict[str, Any]]:
    """Return the rows of a JSONL file; a last line cut short by a kill is left out."""
    if not path.exists():
        return []
    lines = path.read_bytes().split(b"\n")
    rows = []
    for number, line in enumerate(lines):
        if _is_row(line):
            rows.append(json.loads(line))
            continue
        cut_short = number == len(lines) - 1 and line[:1] in (b"", b"{")
        if not cut_short:
            raise BenchmarkError(
                f"Line {number + 1} of {path} is not a row. Delete it, and run again; "
                f"or choose a file of rows (.jsonl)."
            )
    return rows


def summarise(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return how many queries were solved, with and without solved starts."""
    solved = [row["frames_to_success"] is not None for row in rows]
    unsolved = [
        done for done, row in zip(solved, rows, strict=True) if not row["is_presolved"]
    ]
    return {
        "queries": len(rows),
        "solved": sum(solved),
        "success": sum(solved) / max(len(rows), 1),
        "presolved": len(rows) - len(unsolved),
        "success_of_unsolved": sum(unsolved) / max(len(unsolved), 1),
        "died": sum(row["error"] is not None for row in rows),
    }
