"""Queries: which recorded frame to start from, and which later one to reach."""

import csv
import hashlib
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from metro.errors import BenchmarkError, short, shortened
from metro.files import reading, require_regular_file
from metro.storage.atomic import write_atomically

_COLUMNS = ("episode", "start", "goal")
_FACTS = ("is_presolved", "demonstration_frames")
_CORPUS = "# corpus "


@dataclass(frozen=True)
class Query:
    """A start and a goal: one step of an episode and a later one.

    Attributes:
        episode: Episode of the corpus; it is held out of the graph.
        start: Step to start from.
        goal: Step whose frame is the goal.
        is_presolved: Whether the query is trivially solved: its start already meets the
            goal; None: not known.
        demonstration_frames: Steps after which the recording itself first meets the
            goal; None: not known, or only by the frame of the goal itself.
    """

    episode: int
    start: int
    goal: int
    # Facts do not identify a query: with or without them it is the same one.
    is_presolved: bool | None = field(default=None, compare=False)
    demonstration_frames: int | None = field(default=None, compare=False)

    @property
    def goal_distance(self) -> int:
        """d, frames from start to goal in the recording."""
        return self.goal - self.start

    def to_json(self) -> dict[str, int]:
        """Return the three numbers that identify the query."""
        return {name: getattr(self, name) for name in _COLUMNS}


@dataclass(frozen=True)
class QuerySet:
    """The queries of one file.

    Attributes:
        queries: The queries, in the order of the file.
        name: Name of the file.
        digest: sha256 of the file.
        corpus: Digest of the corpus that they were drawn from; None: not recorded.
    """

    queries: tuple[Query, ...]
    name: str
    digest: str
    corpus: str | None = None

    def __iter__(self) -> Iterator[Query]:
        return iter(self.queries)

    def __len__(self) -> int:
        return len(self.queries)

    def first(self, count: int) -> "QuerySet":
        """Return the first queries; they keep the name and digest of the file."""
        if not 1 <= count <= len(self):
            raise BenchmarkError(
                f"{self.name} has {len(self)} queries, so that the first {count} "
                f"cannot be taken. Give 1 to {len(self)}."
            )
        return replace(self, queries=self.queries[:count])

    def require_corpus(self, digest: str) -> None:
        """Raise `BenchmarkError` if they were drawn from another corpus."""
        if self.corpus is not None and self.corpus != digest:
            raise BenchmarkError(
                f"{self.name} has queries of corpus {short(self.corpus)}, this one is "
                f"{short(digest)}. Record that corpus again (docs/results.md has the "
                f"command), or sample queries of this one: metro queries."
            )


def sample_queries(
    episode_lengths: ArrayLike, *, goal_distance: int, count: int, seed: int
) -> list[Query]:
    """Return different queries, drawn evenly over all frames that have a goal.

    Args:
        episode_lengths: ``[M]`` frames of every episode.
        goal_distance: d, frames from start to goal.
        count: Number of queries.
        seed: Random seed of the draw.
    """
    if goal_distance < 1 or count < 1:
        raise BenchmarkError(
            f"goal_distance and count must be at least 1, got {goal_distance} and "
            f"{count}."
        )
    if seed < 0:
        raise BenchmarkError(f"seed must be 0 or more, got {seed}.")
    lengths = np.asarray(episode_lengths)
    # Episodes that are too short have no start, not a negative number of them.
    starts = np.maximum(lengths - goal_distance, 0)
    ends = np.cumsum(starts)
    if count > ends[-1]:
        raise BenchmarkError(
            f"The corpus has {ends[-1]} starts with a goal {goal_distance} frames "
            f"later, fewer than {count} queries. Its longest episode has "
            f"{lengths.max()} frames: record longer ones, or choose nearer goals."
        )
    # Drawn as numbers of starts, then sorted, as the published scripts do.
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(ends[-1], count, replace=False))
    episodes = np.searchsorted(ends, rows, side="right")
    steps = rows - (ends - starts)[episodes]
    return [
        Query(int(episode), int(step), int(step) + goal_distance)
        for episode, step in zip(episodes, steps, strict=True)
    ]


def save_queries(
    queries: Sequence[Query], path: str | Path, *, corpus: str | None = None
) -> None:
    """Write queries as CSV, with the digest of their corpus and what else is known."""
    text = io.StringIO(newline="")
    if corpus is not None:
        text.write(f"{_CORPUS}{corpus}\n")
    known = [f for f in _FACTS if any(getattr(q, f) is not None for q in queries)]
    # The digest is of bytes, which must be the same on every system.
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*_COLUMNS, *known])
    for query in queries:
        facts = (getattr(query, name) for name in known)
        numbers = ("" if fact is None else int(fact) for fact in facts)
        writer.writerow([*query.to_json().values(), *numbers])
    write_atomically(path, text.getvalue().encode())


def load_queries(path: str | Path) -> QuerySet:
    """Return the queries of a CSV file."""
    path = Path(path)
    if not path.exists():
        raise BenchmarkError(
            f"There is no query file {path}. Sample one: metro queries."
        )
    require_regular_file(path, BenchmarkError)
    with reading(path, BenchmarkError, "Sample queries again: metro queries."):
        content = path.read_bytes()
    # What is no text at all is refused below, with a reason.
    corpus, rows = _split(content.decode("utf-8", "replace"))
    columns = tuple(rows[0]) if rows else ()
    if columns[:3] != _COLUMNS or not set(columns[3:]) <= set(_FACTS):
        raise BenchmarkError(
            f"{path} must start with the line {','.join(_COLUMNS)}, "
            f"got {shortened(','.join(columns)) if rows else 'nothing'}."
        )
    try:
        queries = tuple(_parse(columns, row) for row in rows[1:])
    except ValueError:
        raise BenchmarkError(
            f"Every line of {path} must be whole numbers: {','.join(columns)}."
        ) from None
    if not queries:
        raise BenchmarkError(f"{path} has no queries. Sample some: metro queries.")
    digest = hashlib.sha256(content).hexdigest()
    return QuerySet(queries, path.name, digest, corpus)


def _split(text: str) -> tuple[str | None, list[list[str]]]:
    """Return the digest of the corpus, None if it is not recorded, and the rows."""
    corpus = None
    if text.startswith(_CORPUS):
        first, _, text = text.partition("\n")
        corpus = first.removeprefix(_CORPUS).strip()
    try:
        return corpus, list(csv.reader(io.StringIO(text)))
    except csv.Error:
        # Such as a recording that was given by mistake.
        return corpus, []


def _parse(columns: tuple[str, ...], row: list[str]) -> Query:
    values = dict(zip(columns, row, strict=True))
    numbers = {name: int(values[name]) for name in _COLUMNS}
    presolved = values.get("is_presolved")
    shown = values.get("demonstration_frames")
    return Query(
        **numbers,
        is_presolved=bool(int(presolved)) if presolved else None,
        demonstration_frames=int(shown) if shown else None,
    )
