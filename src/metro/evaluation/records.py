"""Rows of results: one JSON object per query and planner seed, in JSONL files."""

import json
import os
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from io import BufferedRandom
from pathlib import Path
from typing import Any

import numpy as np

from metro.core.neighbours import DEFAULT_NEIGHBOURS
from metro.core.pricing import DEFAULT_QUANTILE
from metro.errors import BenchmarkError
from metro.evaluation.packing import (
    PACKED,
    Unpacker,
    pack,
    parse_line,
    read_content,
    to_line,
)
from metro.evaluation.queries import Query
from metro.files import require_regular_file
from metro.planners.methods.registry import find_method, method_names, methods
from metro.storage.atomic import write_atomically
from metro.storage.lock import only_writer, opened_alone

Record = dict[str, Any]
"""One row of results: a JSON object."""

_BLOCK_BYTES = 1 << 16
"""How much of the end of a file is read at a time to find its last line."""

USUAL_GRAPH_OPTIONS: dict[str, float] = {
    "num_neighbours": DEFAULT_NEIGHBOURS,
    "quantile": DEFAULT_QUANTILE,
}
"""k and α, which the paper does not tune."""

LARGEST_PLAN = 60
"""Most action blocks of a plan; more is a mistake."""


@dataclass(frozen=True)
class Setting:
    """How queries are planned.

    Attributes:
        method: Name of the method; other names of it are replaced by the one in rows.
        plan_blocks: h, action blocks of a micro plan.
        waypoint_budget: H, frames; None for methods without a graph.
        step_budget: T, environment steps.
        planner_seed: Random seed of the micro planner.
        macro_steps: h_h of the hierarchical methods; None for the others.
        option: One of the method's ``options``; None: as its authors do.
    """

    method: str
    plan_blocks: int
    waypoint_budget: int | None
    step_budget: int
    planner_seed: int
    macro_steps: int | None = None
    option: str | None = None

    def __post_init__(self) -> None:
        method = find_method(self.method)
        # The dataclass is frozen, and an alias must not split equal runs in two.
        object.__setattr__(self, "method", method.name)
        if (self.waypoint_budget is None) == method.needs_graph:
            known = ", ".join(method_names(needs_graph=True))
            raise BenchmarkError(
                f"waypoint_budget belongs to {known}, and only to them; got "
                f"{self.waypoint_budget} for {self.method}."
            )
        if (self.macro_steps is None) == method.needs_macro:
            known = ", ".join(method_names(needs_macro=True))
            raise BenchmarkError(
                f"macro_steps belongs to {known}, and only to them; got "
                f"{self.macro_steps} for {self.method}."
            )
        if self.option is not None and self.option not in method.options:
            known = "; ".join(
                f"{one.name}: {', '.join(one.options)}"
                for one in methods()
                if one.options
            )
            raise BenchmarkError(
                f"{self.method} has no option {self.option!r}. There are {known}."
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
        # Mixed with the query: its numbers do not depend on what else is planned.
        parts = [self.planner_seed, query.episode, query.start, query.goal]
        return int(np.random.SeedSequence(parts).generate_state(1)[0])


def run_key(row: Mapping[str, Any]) -> str:
    """Return what a row answers: rows of the same key are runs of the same question.

    Names do not count, digests do: a renamed file is the same file.
    """
    names = ("benchmark", "setting", "query", "rendering", "graph")
    parts = ("model", "corpus", "macro", "queries")
    digests = [(row.get(name) or {}).get("digest") for name in parts]
    values = [row.get(name) for name in names]
    return json.dumps([*values, *digests, graph_options_of(row)], sort_keys=True)


def graph_options_of(row: Mapping[str, Any]) -> dict[str, float] | None:
    """Return k and α of a row's graph; None: it has no graph."""
    if row.get("graph") is None:
        return None
    # Rows of the first version do not have them: the defaults were all there was.
    options: dict[str, float] = row.get("graph_options") or USUAL_GRAPH_OPTIONS
    return options


def by_key(
    rows: Iterable[Record],
    key: Callable[[Record], Hashable],
    needed: Iterable[str] = (),
) -> dict[Any, Record]:
    """Return rows by what they answer, so that a run can be resumed.

    Args:
        rows: Of a file that people may have edited.
        key: Returns what a row answers.
        needed: Names that every row must have.

    Raises:
        BenchmarkError: If one of them is not a row of this kind.
    """
    found = {}
    for row in rows:
        try:
            found[key(row)] = row
            for name in needed:
                row[name]
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise not_a_row("this kind", json.dumps(row), problem) from None
    return found


def not_a_row(of: str, text: str, problem: Exception) -> BenchmarkError:
    """Return the error that shows a row which cannot be read, and why."""
    return BenchmarkError(
        f"This is not a row of {of} ({type(problem).__name__}: {problem}): "
        f"{text[:80]}. Remove it."
    )


def to_json(setting: Setting, query: Query) -> Record:
    """Return a setting and a query as a row has them."""
    values = asdict(setting)
    # Rows of the first version lack both, and must keep the same key.
    for name in ("macro_steps", "option"):
        if values[name] is None:
            del values[name]
    return {"setting": values, "query": query.to_json()}


def find_record_files(folder: Path) -> list[Path]:
    """Return the files of rows in a folder, plain and packed, sorted by name."""
    return sorted([*folder.glob("*.jsonl"), *folder.glob(f"*.jsonl{PACKED}")])


def record_name(path: Path) -> str:
    """Return the name of a file of rows without its endings."""
    return path.name.removesuffix(PACKED).removesuffix(".jsonl")


def require_writable(path: Path) -> None:
    """Raise `BenchmarkError` if rows could not be appended: before they cost hours."""
    packed = path if path.suffix == PACKED else path.with_name(path.name + PACKED)
    if path == packed or packed.exists():
        raise BenchmarkError(
            f"{packed} is packed, and rows are appended to plain files only. Unpack "
            f"it first: gunzip {packed}"
        )
    # Opening a pipe would wait for a reader.
    if path.exists():
        require_regular_file(path, BenchmarkError)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a"):
            pass
    except OSError as error:
        raise BenchmarkError(
            f"{path} cannot be written ({error.strerror}). Choose another file."
        ) from error


def append_records(rows: Iterable[Record], path: Path) -> None:
    """Append rows to a JSONL file; they are on disk when this returns."""
    require_writable(path)
    # Locked: what looks like a torn line may be a row that another process writes.
    with opened_alone(path) as file:
        _mend_the_end(file, path)
        file.write(b"".join(map(to_line, rows)))
        file.flush()
        # A power cut must not lose rows that progress has already counted.
        os.fsync(file.fileno())


def _mend_the_end(file: BufferedRandom, path: Path) -> None:
    """Go to the end of the last whole row: end its line, or cut off a torn one.

    Only the first byte and the last line are read, so that appending costs as much as
    what is appended, not as much as the file.
    """
    line = _read_last_line(file)
    file.seek(0)
    # A file of something else must stay as it is; all our lines begin with a brace.
    for name, byte in (("Line 1", file.read(1)), ("The last line", line[:1])):
        if byte not in (b"", b"{"):
            raise BenchmarkError(_no_row(name, path))
    end = file.seek(0, os.SEEK_END)
    try:
        parse_line(line)
    except ValueError:
        # A kill cut the row short: its query is planned again.
        file.truncate(file.seek(end - len(line)))
    else:
        file.write(b"\n")


def _read_last_line(file: BufferedRandom) -> bytes:
    """Return what comes after the last line break, read backwards in blocks."""
    line, place = b"", file.seek(0, os.SEEK_END)
    while place > 0 and b"\n" not in line:
        size = min(place, _BLOCK_BYTES)
        place = file.seek(place - size)
        line = file.read(size) + line
    return line[line.rfind(b"\n") + 1 :]


def read_records(path: Path) -> list[Record]:
    """Return the rows of a file, plain or packed; none if the file does not exist.

    A last line that a kill cut short is left out.
    """
    if not path.exists():
        return []
    lines = read_content(path).split(b"\n")
    unpacker = Unpacker()
    rows: list[Record] = []
    for number, line in enumerate(lines, start=1):
        try:
            row = unpacker.take(parse_line(line))
        except ValueError:
            # Only the last line can be torn by a kill; elsewhere the file is damaged.
            if number == len(lines) and line[:1] in (b"", b"{"):
                break
            raise BenchmarkError(_no_row(f"Line {number}", path)) from None
        if row is not None:
            rows.append(row)
    return rows


def pack_records(path: Path) -> Path:
    """Replace a plain file of rows by a packed one, ``NAME.jsonl.gz``; return its path.

    To append rows again, unpack it with ``gunzip``. See `metro.evaluation.packing`.
    """
    packed = path.with_name(path.name + PACKED)
    if packed.exists():
        raise BenchmarkError(f"{packed} exists already. Move it away first.")
    # Opening would make a file that is missing.
    if not path.exists():
        raise BenchmarkError(f"{path} has no rows to pack.")
    with only_writer(path), opened_alone(path):
        rows = read_records(path)
        if not rows:
            raise BenchmarkError(f"{path} has no rows to pack.")
        write_atomically(packed, pack(rows))
        # Only now, when the packed file is safe.
        path.unlink()
    return packed


def _no_row(line: str, path: Path) -> str:
    return (
        f"{line} of {path} is not a row. Delete it, and run again; or choose a file "
        f"of rows (.jsonl)."
    )


def summarise(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return how many queries were solved, with and without trivially solved ones."""
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
