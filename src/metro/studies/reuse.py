"""Rows of ``metro evaluate`` that answer a study's questions already."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from metro.evaluation.context import EvalConfig
from metro.evaluation.queries import QuerySet
from metro.evaluation.records import (
    Setting,
    append_records,
    read_records,
    run_key,
    to_json,
)
from metro.evaluation.run import describe


def adopt_rows(
    source: EvalConfig,
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
    answers = {run_key(row): row for row in known}
    if not answers:
        return 0
    done = {run_key(row) for row in read_records(path)}
    with source.open() as context:
        told = {setting: describe(context, queries, setting) for setting in settings}
        keys = [
            run_key(told[setting] | to_json(setting, query))
            for setting in settings
            for query in queries
        ]
        taken = [
            answers[key] | context.remarks()
            for key in keys
            if key in answers and key not in done
        ]
    append_records(taken, path)
    return len(taken)
