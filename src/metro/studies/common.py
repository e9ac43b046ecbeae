"""What the sections of several studies need: checked rows, and pairs of cells."""

import json
import tomllib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from metro.analysis.comparison import Difference, MethodResult, difference
from metro.analysis.config_results import ConfigResult
from metro.analysis.episode_results import UNKNOWN
from metro.analysis.formatting import percent
from metro.benchmark import PAPER_FILE, benchmarks_folder
from metro.errors import BenchmarkError
from metro.report.document import Block, Text
from metro.report.study import Row
from metro.report.tables import p_value_text

Read = TypeVar("Read")
NONE = "-"


@dataclass(frozen=True)
class PairedResults:
    """Two cells cut down to the queries and seeds that both have."""

    first: MethodResult
    second: MethodResult
    difference: Difference

    @property
    def texts(self) -> tuple[str, ...]:
        """Both successes, and under `PAIR_HEADER` how they differ."""
        told = self.difference
        low, high = told.interval
        return (
            percent(*self.first.over_seeds),
            percent(*self.second.over_seeds),
            f"{100 * told.gain:+.1f}",
            f"{100 * low:+.1f} to {100 * high:+.1f}",
            p_value_text(told.p_value),
            str(told.num_pairs),
        )


PAIR_HEADER = ("points", "95 %", "p", "pairs")


def pair_up(
    first: ConfigResult, second: ConfigResult, step_budget: int | None = None
) -> PairedResults | None:
    """Return both cells on what they have in common; None: no common run.

    Within T, or the longest T that both had.
    """
    common = _runs(first) & _runs(second)
    if not common:
        return None
    budget = step_budget or min(first.step_budget, second.step_budget)
    one, other = (
        MethodResult(cell.method, _keep(cell, common), budget)
        for cell in (first, second)
    )
    told = difference(one, other)
    if told is None:
        raise AssertionError("runs in common, and none in common")
    return PairedResults(one, other, told)


def notes_of(cells: Iterable[ConfigResult]) -> list[Block]:
    """Return what a reader has to know about the rows of cells."""
    notes = (
        f"Note: {cell.task.benchmark}, {cell.task.model}, d = "
        f"{cell.task.goal_distance}, {cell.name}: {note}."
        for cell in cells
        for note in cell.notes
    )
    return [Text(note) for note in dict.fromkeys(notes)]


def read_each(
    rows: Iterable[Row], study: str, read: Callable[[Row], Read]
) -> list[Read]:
    """Return what ``read`` makes of every row, sorted; the same row twice is one.

    Raises:
        BenchmarkError: For the first row that ``read`` cannot make anything of.
    """
    texts = sorted({json.dumps(row, sort_keys=True) for row in rows})
    if not texts:
        raise BenchmarkError(f"There are no rows of the study {study}.")
    found = []
    for text in texts:
        try:
            found.append(read(json.loads(text)))
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise BenchmarkError(
                f"This is not a row of the study {study} ({type(problem).__name__}: "
                f"{problem}): {text[:80]}. Remove it."
            ) from None
    return found


def require_once(names: Sequence[str], study: str) -> None:
    """Raise `BenchmarkError` if two rows answer the same question."""
    for name in names:
        if names.count(name) > 1:
            raise BenchmarkError(
                f"The study {study} has {name} {names.count(name)} times, with "
                f"different figures. Remove all but one."
            )


def commits_of(rows: Iterable[Row]) -> str:
    """Return which code wrote rows, and that it differs if it does."""
    found = sorted({_commit(row) for row in rows})
    told = "; rows of different versions" if len(found) > 1 else ""
    return f"commit {', '.join(found)}{told}"


def paper_table(name: str) -> list[dict[str, Any]]:
    """Return one of the lists of ``benchmarks/paper.toml``."""
    file = benchmarks_folder() / PAPER_FILE
    try:
        return list(tomllib.loads(file.read_text("utf-8"))[name])
    except (OSError, KeyError, ValueError) as error:
        raise BenchmarkError(f"{file} cannot be read: {error}.") from error


def _commit(row: Row) -> str:
    commit = str(row["versions"].get("commit") or UNKNOWN)
    return commit[:9] + ("+" if commit.endswith("+") else "")


def _runs(cell: ConfigResult) -> set[Any]:
    return {(row.query, row.seed) for row in cell.outcomes}


def _keep(cell: ConfigResult, runs: set[Any]) -> ConfigResult:
    kept = tuple(row for row in cell.outcomes if (row.query, row.seed) in runs)
    return replace(cell, outcomes=kept)
