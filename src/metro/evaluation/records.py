"""Rows: one JSON object a query and planner seed, appended to a JSONL file."""

import gzip
import json
import os
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from io import BufferedRandom
from pathlib import Path
from typing import Any

import numpy as np

from metro.core.neighbours import DEFAULT_NEIGHBOURS
from metro.core.pricing import DEFAULT_QUANTILE
from metro.errors import BenchmarkError
from metro.evaluation.queries import Query
from metro.planners.methods.registry import find_method, method_names, methods
from metro.storage.atomic import write_atomically

Record = dict[str, Any]
"""One row: a JSON object."""

PACKED = ".gz"
HEADER = "header"
SHARED = (
    *("base", "batch", "benchmark", "budget", "corpus", "device", "episodes_used"),
    *("gaps", "graph", "graph_options", "macro", "method", "model", "parameters"),
    *("processor", "queries", "renderer", "rendering", "role", "setting", "share"),
    *("study", "subset_seed", "trained_on_corpus", "versions"),
)
"""What many rows have in common, and a packed file writes once."""

_BLOCK_BYTES = 1 << 16

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
        method: Name of the method; other names of it are replaced by the one in rows.
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
        method = find_method(self.method)
        object.__setattr__(self, "method", method.name)
        if (self.waypoint_budget is None) == method.needs_graph:
            known = " and ".join(method_names(needs_graph=True))
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
    with path.open("r+b") as file:
        _mend_the_end(file, path)
        file.write(b"".join(_to_line(row) for row in rows))
        file.flush()
        os.fsync(file.fileno())


def _mend_the_end(file: BufferedRandom, path: Path) -> None:
    """Go to the end of the last whole row: end its line, or cut off a torn one.

    Only the first byte and the last line are read, so that appending costs as much as
    what is appended, not as much as the file.
    """
    line = _read_last_line(file)
    file.seek(0)
    # A file of something else must stay as it is; all our lines begin with a brace.
    if file.read(1) not in (b"", b"{") or line[:1] not in (b"", b"{"):
        raise BenchmarkError(_not_a_row(1, path))
    end = file.seek(0, os.SEEK_END)
    if _parse_line(line) is not None:
        file.write(b"\n")
    elif line:
        file.truncate(file.seek(end - len(line)))


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
    lines = _read_bytes(path).split(b"\n")
    rows: list[Record] = []
    headers: list[Record] = []
    header: Record = {}
    for number, line in enumerate(lines, start=1):
        row = _parse_line(line)
        if row is None:
            cut_short = number == len(lines) and line[:1] in (b"", b"{")
            if not cut_short:
                raise BenchmarkError(_not_a_row(number, path))
        elif row.keys() != {HEADER}:
            # Sorted, as plain files have them: their order reaches reports.
            rows.append(dict(sorted({**header, **row}.items())) if header else row)
        elif isinstance(row[HEADER], dict):
            header = row[HEADER]
            headers.append(header)
        elif row[HEADER] in range(len(headers)):
            header = headers[row[HEADER]]
        else:
            raise BenchmarkError(_not_a_row(number, path))
    return rows


def pack_records(path: Path) -> Path:
    """Replace a plain file of rows by a packed one, ``NAME.jsonl.gz``; return its path.

    Packed, what many rows share (model, corpus, setting, versions) is written once: a
    line ``{"header": {...}}`` holds it for the rows that come after it, and
    ``{"header": 3}`` goes back to the fourth header. The last header is empty, so that
    rows may be appended to the file that ``gunzip`` makes of it. The same rows give the
    same bytes.
    """
    packed = path.with_name(path.name + PACKED)
    if packed.exists():
        raise BenchmarkError(f"{packed} exists already. Move it away first.")
    rows = read_records(path)
    if not rows:
        raise BenchmarkError(f"{path} has no rows to pack.")
    write_atomically(packed, pack(rows))
    path.unlink()
    return packed


def pack(rows: Iterable[Record]) -> bytes:
    """Return the content of a packed file; see `pack_records`."""
    lines: list[bytes] = []
    known: dict[str, int] = {}
    current = json.dumps({})
    for row in rows:
        header = {name: row[name] for name in SHARED if name in row}
        text = json.dumps(header, sort_keys=True)
        if text != current:
            lines.append(_to_line({HEADER: known.get(text, header)}))
            known.setdefault(text, len(known))
            current = text
        lines.append(_to_line({k: v for k, v in row.items() if k not in SHARED}))
    lines.append(_to_line({HEADER: {}}))
    # Without a time stamp: a file that is packed twice must not differ.
    return gzip.compress(b"".join(lines), mtime=0)


def _to_line(row: Record) -> bytes:
    return json.dumps(row, sort_keys=True).encode() + b"\n"


def _parse_line(line: bytes) -> Record | None:
    """Return the JSON object in a line; None if there is none."""
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


def _not_a_row(number: int, path: Path) -> str:
    return (
        f"Line {number} of {path} is not a row. Delete it, and run again; or choose a "
        f"file of rows (.jsonl)."
    )


def _read_bytes(path: Path) -> bytes:
    content = path.read_bytes()
    if path.suffix != PACKED:
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error) as error:
        raise BenchmarkError(
            f"{path} is damaged ({error}). Restore it from a copy."
        ) from error


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
