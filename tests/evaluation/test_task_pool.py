"""Worker processes change no row, and take down no query but their own."""

from dataclasses import replace

import pytest
from bench_makers import FLAT, METRO, FatalSource, outcomes

from metro import pool
from metro.analysis.grouping import group_rows
from metro.errors import WorldError
from metro.evaluation.queries import (
    load_queries,
)
from metro.evaluation.records import read_records
from metro.evaluation.run import evaluate
from pool_makers import die_at_once


def test_workers_change_nothing(source, query_file, tmp_path):
    """Two processes, another batch: the same rows."""
    asked = load_queries(query_file)
    settings = [METRO, replace(METRO, waypoint_budget=6), FLAT]
    one, two = (
        evaluate(source, settings, asked, tmp_path / f"{n}.jsonl", batch=n, workers=w)
        for n, w in ((4, 1), (2, 2))
    )
    assert len(one) == 12
    assert outcomes(one) == outcomes(two)
    assert [row["setting"] for row in one] == [row["setting"] for row in two]
    again = evaluate(source, settings, asked, tmp_path / "4.jsonl")
    assert again == one


def test_a_worker_that_dies_is_told(source, query_file, tmp_path, monkeypatch):
    """One line, not a traceback; nothing that was finished is lost."""
    monkeypatch.setattr(pool, "_serve", die_at_once)  # where every worker begins
    asked = load_queries(query_file)
    with pytest.raises(
        WorldError, match="^A worker process died before its first task"
    ):
        evaluate(source, [FLAT], asked, tmp_path / "a.jsonl", batch=2, workers=2)


def test_a_query_that_kills_its_process_is_a_row(source, query_file, tmp_path):
    """The run goes on with the others; asked again, it is tried again."""
    asked, path = load_queries(query_file), tmp_path / "a.jsonl"
    fatal = FatalSource(**vars(source), victim=asked.queries[1].episode)
    rows = evaluate(fatal, [FLAT], asked, path, batch=1, workers=2)
    victims = [query.episode == fatal.victim for query in asked]
    assert [row["error"] for row in rows] == [pool.DIED if v else None for v in victims]
    assert 0 < sum(victims) < len(rows) == 4
    (cell,) = group_rows(read_records(path))
    assert sum(row.error is not None for row in cell.runs) == sum(victims)
    again = evaluate(source, [FLAT], asked, path, batch=4)
    assert all(row["error"] is None for row in again)
    assert len(read_records(path)) == 4 + sum(victims)
    (cell,) = group_rows(read_records(path))
    assert all(row.error is None for row in cell.runs)
