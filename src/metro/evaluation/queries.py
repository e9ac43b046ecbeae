"""Queries: which recorded frame to start from, and which later one to reach."""

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from metro.errors import BenchmarkError

_COLUMNS = ("episode", "start", "goal")


@dataclass(frozen=True)
class Query:
    """From one step of an episode to a later one.

    Attributes:
        episode: Of the corpus; it is held out of the graph.
        start: Step to start from.
        goal: Step whose frame is the goal.
    """

    episode: int
    start: int
    goal: int

    @property
    def goal_distance(self) -> int:
        """d, frames from start to goal in the recording."""
        return self.goal - self.start


def sample_queries(
    episode_lengths: ArrayLike, *, goal_distance: int, count: int, seed: int
) -> list[Query]:
    """Return different queries, drawn evenly over all rows that have a goal.

    Sorted by row, as the published scripts do.
    """
    lengths = np.asarray(episode_lengths)
    starts = np.maximum(lengths - goal_distance, 0)
    ends = np.cumsum(starts)
    if count > ends[-1]:
        raise BenchmarkError(
            f"The corpus has {ends[-1]} starts with a goal {goal_distance} frames "
            f"later, {count} queries were asked for. Record longer episodes."
        )
    rng = np.random.default_rng(seed)
    rows = np.sort(rng.choice(ends[-1], count, replace=False))
    episodes = np.searchsorted(ends, rows, side="right")
    steps = rows - (ends - starts)[episodes]
    return [
        Query(int(episode), int(step), int(step) + goal_distance)
        for episode, step in zip(episodes, steps, strict=True)
    ]


def save_queries(queries: Iterable[Query], path: str | Path) -> None:
    """Write queries as CSV: episode, start, goal."""
    with Path(path).open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_COLUMNS)
        writer.writerows((q.episode, q.start, q.goal) for q in queries)


def load_queries(path: str | Path) -> list[Query]:
    """Return the queries of a CSV file."""
    with Path(path).open(newline="") as file:
        rows = list(csv.reader(file))
    if not rows or tuple(rows[0]) != _COLUMNS:
        raise BenchmarkError(
            f"{path} must start with the line {','.join(_COLUMNS)}, "
            f"got {','.join(rows[0]) if rows else 'nothing'}."
        )
    try:
        return [Query(*map(int, row)) for row in rows[1:]]
    except (TypeError, ValueError):
        raise BenchmarkError(
            f"Every line of {path} must be three whole numbers: episode,start,goal."
        ) from None
