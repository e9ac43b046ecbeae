"""Clocks, rows, and peers that may be absent."""

import time
import warnings
from collections.abc import Callable
from importlib import import_module
from typing import Any

Row = dict[str, Any]
"""One measurement: what, on which data, how long, and how many times ours."""

FIELDS = (
    "kind", "method", "data", "num_frames", "dim", "threads",
    "seconds", "ratio", "recall", "exact", "note",
)  # fmt: skip
"""Fields of every row; ``ratio`` is this method's time in units of ours."""

Tell = Callable[[str], None]
"""Called with one line before each measurement."""


def timed(call: Callable[..., Any], *args: Any, **named: Any) -> tuple[float, Any]:
    """Return the seconds that a call took, and what it returned."""
    start = time.perf_counter()
    result = call(*args, **named)
    return time.perf_counter() - start, result


def best_of(repeats: int, call: Callable[..., Any], *args: Any) -> tuple[float, Any]:
    """Return the shortest time of a few calls, and what the last one returned."""
    runs = [timed(call, *args) for _ in range(repeats)]
    return min(seconds for seconds, _ in runs), runs[-1][1]


def try_peer(
    package: str, absent: Callable[..., Row], run: Callable[[Any], Row]
) -> Row:
    """Run a peer with its module; where that can't be, return a row that says why.

    Args:
        package: The module to import.
        absent: Makes the row of a peer without figures, from ``note=...``.
        run: Measures, given the module.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a peer's deprecations are not ours
        try:
            module = import_module(package)
        except ImportError:
            return absent(note=f"not installed: {package}")
        try:
            return run(module)
        except Exception as error:  # a peer that breaks must not end the run
            reason = (str(error).splitlines() or [""])[0]
            return absent(note=f"failed: {type(error).__name__}: {reason}")


def with_ratios(rows: list[Row], ours: float) -> list[Row]:
    """Return the rows with their times in units of ours."""
    return [
        row if row["seconds"] is None else {**row, "ratio": row["seconds"] / ours}
        for row in rows
    ]
