"""Rows of ``metro evaluate`` that answer a study's questions already."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metro.evaluation.context import BenchSource
from metro.evaluation.queries import QuerySet
from metro.evaluation.records import (
    Setting,
    append_rows,
    key_of,
    read_rows,
    to_json,
)
from metro.evaluation.run import describe


def adopt_rows(
    source: BenchSource,
    settings: Sequence[Setting],
    queries: QuerySet,
    known: Sequence[dict[str, Any]],
    path: Path,
) -> int:
    """Append known rows of the same questions to a study's file; return how many.

    The same question has the same setting, query, graph, and digests of model and
    corpus. A row keeps its figures and versions, and says what the study adds.

    Args:
        source: Where the study's parts are.
        settings: What it plans.
        queries: What it reaches.
        known: Rows of ``metro evaluate``.
        path: The study's rows (.jsonl).
    """
    answers = {key_of(row): row for row in known}
    if not answers:
        return 0
    done = {key_of(row) for row in read_rows(path)}
    with source.open() as bench:
        told = {setting: describe(bench, queries, setting) for setting in settings}
        keys = [
            key_of(told[setting] | to_json(setting, query))
            for setting in settings
            for query in queries
        ]
        taken = [
            answers[key] | bench.remarks()
            for key in keys
            if key in answers and key not in done
        ]
    append_rows(taken, path)
    return len(taken)
