"""Rows grouped by configuration; clear mistakes are refused, the rest is noted."""

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, TypeVar

from metro.analysis.config_results import ConfigResult
from metro.analysis.episode_results import EpisodeResult, read_results
from metro.analysis.task import RunConfig
from metro.errors import BenchmarkError
from metro.evaluation.queries import Query

Item = TypeVar("Item")
Key = TypeVar("Key", bound=Hashable)


def group_by(
    items: Iterable[Item], key: Callable[[Item], Key]
) -> dict[Key, list[Item]]:
    """Return the items of every key, keys and items in the order they come in."""
    groups: dict[Key, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups


def group_rows(rows: Iterable[Mapping[str, Any]]) -> list[ConfigResult]:
    """Return the rows grouped by task, method and configuration, sorted.

    Broken rows, and rows of the same run that disagree, are refused.
    """
    # T is no part: success latches, so runs of different T answer for each other.
    names = [field.name for field in fields(RunConfig)]
    groups = group_by(
        read_results(rows),
        lambda row: RunConfig(*(getattr(row, name) for name in names)),
    )
    return sorted((_group(*group) for group in groups.items()), key=_order)


def _order(config: ConfigResult) -> tuple[Any, ...]:
    # None and numbers cannot be sorted together.
    numbers = (config.plan_blocks, config.waypoint_budget or 0, config.macro_steps or 0)
    return (config.task, config.method, *numbers, config.graph or "")


def _group(config: RunConfig, rows: Sequence[EpisodeResult]) -> ConfigResult:
    """Return the longest run of each query and seed.

    A run whose environment died counts only if there is no other one: it may have been
    repeated.
    """
    kept: dict[tuple[Query, int], EpisodeResult] = {}
    # Whole runs come first, the longest of them: the first one seen is kept.
    for row in sorted(rows, key=lambda row: (row.error is not None, -row.step_budget)):
        known = kept.setdefault((row.query, row.seed), row)
        tried_again = row.error is not None and known.error is None
        if known.step_budget == row.step_budget and not tried_again:
            _require_same(known, row)
    given = Counter(row.step_budget for row in kept.values())
    # Of the budgets most runs have: a short pilot must not shorten all of them.
    usual = max(given, key=lambda budget: (given[budget], -budget))
    long = [row for row in kept.values() if row.step_budget >= usual]
    runs = sorted(long, key=lambda row: (*vars(row.query).values(), row.seed))
    # Runs that differ only in T should agree where both were running: else say so.
    disagree = [
        row
        for row in rows
        if row.error is None and not _agree(kept[row.query, row.seed], row)
    ]
    notes = _notes(runs, len(rows) - len(kept), len(disagree))
    if len(long) < len(kept):
        notes.append(
            f"runs left out, for most were given T = {usual}, they less: "
            f"{len(kept) - len(long)}"
        )
    return ConfigResult(**vars(config), runs=tuple(runs), notes=tuple(notes))


def _agree(long: EpisodeResult, short: EpisodeResult) -> bool:
    """Return whether a longer run ends like a shorter one within its budget."""
    early = long.frames is not None and long.frames <= short.step_budget
    return short.frames == (long.frames if early else None)


def _require_same(known: EpisodeResult, row: EpisodeResult) -> None:
    """Raise if two runs of one query, seed and budget ended differently."""
    if (known.frames, known.error) == (row.frames, row.error):
        return
    asked = row.query
    raise BenchmarkError(
        f"{row.task.benchmark}, {row.key.label}, h = {row.plan_blocks}, query "
        f"{asked.episode},{asked.start},{asked.goal}, seed {row.seed} is there twice: "
        f"{_ending(known)} and {_ending(row)}. Remove one run."
    )


def _ending(row: EpisodeResult) -> str:
    if row.error:
        return f"died ({row.error})"
    return "not solved" if row.frames is None else f"solved after {row.frames} frames"


def _notes(runs: Sequence[EpisodeResult], repeated: int, disagree: int) -> list[str]:
    notes = []
    if repeated:
        notes.append(
            f"rows left out, for the longest run of a question counts: {repeated}"
        )
    if disagree:
        notes.append(f"of them ended otherwise than the longest run: {disagree}")
    commits = sorted({row.commit for row in runs})
    if len(commits) > 1:
        notes.append(f"rows of different versions: {', '.join(commits)}")
    if any(row.trained_on_corpus for row in runs):
        notes.append("the model was trained on the recordings that queries are from")
    died = [row for row in runs if row.error]
    if died:
        causes = Counter(row.error for row in died).most_common(1)
        notes.append(
            f"the environment died in {len(died)} of {len(runs)} runs, counted as not "
            f"solved ({causes[0][0]})"
        )
    per_query = Counter(row.query for row in runs)
    if len(set(per_query.values())) > 1:
        notes.append("not every query has every seed")
    return notes
