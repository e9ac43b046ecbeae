"""The packed form of rows: what many of them share is written once, then gzip.

A line ``{"header": {...}}`` holds what the rows after it share (model, corpus, setting,
versions). A line ``{"header": 3}`` returns to the fourth header of the file. A file
without headers is a plain file of rows, so that one reader reads both.
"""

import gzip
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from metro.errors import BenchmarkError
from metro.files import reading, require_regular_file

JsonObject = dict[str, Any]

PACKED = ".gz"
HEADER = "header"
SHARED = frozenset(
    (
        *("base", "batch", "benchmark", "budget", "corpus", "device", "episodes_used"),
        *("gaps", "graph", "graph_options", "macro", "method", "model", "parameters"),
        *("processor", "queries", "renderer", "rendering", "role", "setting", "share"),
        *("study", "subset_seed", "trained_on_corpus", "versions"),
    )
)
"""Keys of a row whose values many rows share."""


def pack(rows: Iterable[JsonObject]) -> bytes:
    """Return the content of a packed file; the same rows give the same bytes."""
    lines: list[bytes] = []
    known: dict[str, int] = {}
    # Rows that share nothing need no header at the beginning.
    current = json.dumps({})
    for row in rows:
        header = {name: row[name] for name in row if name in SHARED}
        text = json.dumps(header, sort_keys=True)
        if text != current:
            lines.append(to_line({HEADER: known.get(text, header)}))
            known.setdefault(text, len(known))
            current = text
        lines.append(to_line({k: v for k, v in row.items() if k not in SHARED}))
    # Rows may be appended to what gunzip makes of the file: they share nothing.
    lines.append(to_line({HEADER: {}}))
    # Without a time stamp: a file that is packed twice must not differ.
    return gzip.compress(b"".join(lines), mtime=0)


class Unpacker:
    """Turns the lines of a file into rows, one after another."""

    def __init__(self) -> None:
        self._headers: list[JsonObject] = []
        self._current: JsonObject = {}

    def take(self, line: JsonObject) -> JsonObject | None:
        """Return the whole row of a line; None: the line was a header.

        Raises:
            ValueError: If the line returns to a header that the file does not have.
        """
        if line.keys() != {HEADER}:
            # Sorted, as plain files have them: the order of keys reaches reports.
            whole = {**self._current, **line}
            return dict(sorted(whole.items())) if self._current else line
        header = line[HEADER]
        if isinstance(header, dict):
            self._headers.append(header)
        # Not isinstance: True and 1.0 are equal to numbers of headers.
        elif type(header) is int and header in range(len(self._headers)):
            header = self._headers[header]
        else:
            raise ValueError(f"there is no header {header}")
        self._current = header
        return None


def to_line(row: JsonObject) -> bytes:
    """Return a row as a line of a file."""
    return json.dumps(row, sort_keys=True).encode() + b"\n"


def parse_line(line: bytes) -> JsonObject:
    """Return the JSON object in a line; ValueError if there is none."""
    try:
        row = json.loads(line)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(row, dict):
        raise ValueError("it is not an object")
    return row


def read_content(path: Path) -> bytes:
    """Return the lines of a file of rows, plain or packed, as bytes."""
    require_regular_file(path, BenchmarkError)
    with reading(path, BenchmarkError, "Restore it from a copy."):
        content = path.read_bytes()
        return gzip.decompress(content) if path.suffix == PACKED else content
