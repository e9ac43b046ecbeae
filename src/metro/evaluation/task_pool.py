"""Worker processes that plan batches of queries."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from metro import pool
from metro.evaluation.batch import failed_records, plan_queries
from metro.evaluation.context import EvalConfig, EvalContext
from metro.evaluation.queries import Query
from metro.evaluation.records import Record, Setting


@dataclass(frozen=True)
class WorkItem:
    """Queries of one setting that are planned together, and what their rows say."""

    setting: Setting
    queries: tuple[Query, ...]
    metadata: dict[str, Any]


def plan_item(context: EvalContext, item: WorkItem) -> list[Record]:
    """Return the rows of one batch."""
    (rows,) = plan_queries(
        context, item.setting, item.queries, item.metadata, batch=len(item.queries)
    )
    return rows


def plan_items(
    source: EvalConfig, items: Sequence[WorkItem], workers: int
) -> Iterator[list[Record]]:
    """Yield the rows of every batch as soon as it is planned by one of the workers.

    Queries that end their process are marked as failed; the others are planned.

    Raises:
        WorldError: If a process dies before it has anything to plan.
    """
    return pool.run_tasks(
        plan_item,
        items,
        # A function, not an open context: files and simulators do not cross processes.
        open_context=source.open,
        workers=workers,
        if_lost=_failed,
    )


def _failed(item: WorkItem) -> list[Record]:
    return failed_records(item.setting, item.queries, item.metadata, pool.DIED)
