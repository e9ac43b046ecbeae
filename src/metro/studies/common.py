"""What several studies share: reading rows, resuming, and paired comparisons."""

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from metro.analysis.comparison import Difference, difference
from metro.analysis.config_results import ConfigResult, MethodResult
from metro.analysis.episode_results import short_commit
from metro.analysis.formatting import percent
from metro.analysis.task import UNKNOWN
from metro.errors import BenchmarkError
from metro.evaluation.records import (
    Record,
    append_records,
    by_key,
    not_a_row,
    read_records,
)
from metro.report.document import Block, Text
from metro.report.tables import pair_texts

Parsed = TypeVar("Parsed")


def measure_missing(
    wanted: Iterable[tuple[dict[str, Any], Callable[[], dict[str, Any]]]],
    path: Path,
    key: Callable[[Record], Hashable],
) -> Iterator[dict[str, Any]]:
    """Yield the row of everything wanted: from the file, or measured and appended.

    Wanted are pairs of a row without its results and a function that measures them.
    Rows with equal keys are of the same measurement.
    """
    done = by_key(read_records(path), key)
    for described, measure in wanted:
        if key(described) not in done:
            # Kept in `done` too: what is wanted twice is measured once.
            done[key(described)] = measure()
            # Appended at once, so that an interruption loses one measurement at most.
            append_records([done[key(described)]], path)
        yield done[key(described)]


def parse_rows(
    rows: Iterable[Record], study: str, parse: Callable[[Record], Parsed]
) -> list[Parsed]:
    """Return what ``parse`` makes of every row, sorted; equal rows count once."""
    # Sorted texts: the order of rows in a file must not change a page.
    texts = sorted({json.dumps(row, sort_keys=True) for row in rows})
    if not texts:
        raise BenchmarkError(f"There are no rows of the study {study}.")
    found = []
    for text in texts:
        try:
            found.append(parse(json.loads(text)))
        # People edit these files by hand: any part may be absent or of another type.
        except (KeyError, TypeError, ValueError, AttributeError) as problem:
            raise not_a_row(f"the study {study}", text, problem) from None
    return found


def require_once(names: Sequence[str], study: str) -> None:
    """Raise `BenchmarkError` if two rows are of the same measurement."""
    for name in names:
        if names.count(name) > 1:
            raise BenchmarkError(
                f"The study {study} has {name} {names.count(name)} times, with "
                f"different results. Remove all but one."
            )


def commits_of(rows: Iterable[Record]) -> str:
    """Return which commits wrote the rows, with a remark if they differ."""
    # Rows that an installed package wrote have no commit.
    commits = {str(row["versions"].get("commit") or UNKNOWN) for row in rows}
    found = sorted(set(map(short_commit, commits)))
    remark = "; rows of different versions" if len(found) > 1 else ""
    return f"commit {', '.join(found)}{remark}"


def pair_up(
    first: ConfigResult, second: ConfigResult, step_budget: int | None = None
) -> Difference | None:
    """Return how two results differ on the runs that both have; None: there are none.

    Success counts within T = ``step_budget``, else within the longest T of both.
    """
    # Nothing is known beyond the shorter of the two runs.
    budget = step_budget or min(first.step_budget, second.step_budget)
    return difference(
        *(MethodResult(result.method, result, budget) for result in (first, second))
    )


def pair_line(pair: Difference) -> tuple[str, ...]:
    """Return both success rates, and under `PAIR_HEADER` how they differ."""
    return (*(percent(*one.over_seeds) for one in pair.both), *pair_texts(pair))


def notes_of(results: Iterable[ConfigResult]) -> list[Block]:
    """Return one sentence per thing that a reader has to know about the rows."""
    notes = (
        f"Note: {result.task.benchmark}, {result.task.model}, d = "
        f"{result.task.goal_distance}, {result.name}: {note}."
        for result in results
        for note in result.notes
    )
    # Several pairs share a result: its note is to appear once, in order of appearance.
    return [Text(note) for note in dict.fromkeys(notes)]
