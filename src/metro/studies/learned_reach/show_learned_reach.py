"""Renders what training a reach head buys over the model's own reach."""

from collections.abc import Sequence
from dataclasses import replace

from metro.analysis.comparison import Difference
from metro.analysis.formatting import number
from metro.analysis.grouping import group_rows
from metro.evaluation.records import Record
from metro.planners.methods.metro import BY_HEAD, LEARNED, REACH, RECORDED
from metro.report.document import Table, Text
from metro.report.study import Section, Study
from metro.report.tables import PAIR_HEADER
from metro.studies.common import commits_of, notes_of, pair_line, pair_up, parse_rows

NAME = "learned-reach"

_PAIRS = dict(zip(BY_HEAD, (REACH, f"{REACH}-{RECORDED}"), strict=True))
"""Options that differ in the price of a bridge alone."""

_HEADER = ("benchmark", "corpus", "model", "d", "h", "H", "T", "recorded actions")
_READING = (
    "The same queries and seeds, candidates and search; bridges priced by what the "
    "world model can reach, which needs no training, and by a head that was trained to "
    "tell recorded blocks from other pairs of the same recordings. Points: learned "
    "minus reach; the interval draws queries with all their seeds; p is McNemar's "
    "exact test."
)
_UNPAIRED = "Not run: both prices with the same setting and queries."


def render(rows: Sequence[Record]) -> Section:
    """Return both prices side by side, with and without recorded actions."""
    results = group_rows(parse_rows(rows, NAME, _parse))
    # A study has few results: all are compared with all.
    pairs = [
        pair
        for learned in results
        for reach in results
        if learned.key.option in _PAIRS
        and replace(learned.key, option=_PAIRS[learned.key.option]) == reach.key
        and learned.task == reach.task
        and (*learned.setting, learned.graph) == (*reach.setting, reach.graph)
        for pair in [pair_up(learned, reach)]
        if pair is not None
    ]
    shown = _table(pairs, rows) if pairs else Text(_UNPAIRED)
    notes = notes_of(line.config for pair in pairs for line in pair.both)
    return Section((Text(_READING), shown, *notes))


def _table(pairs: Sequence[Difference], rows: Sequence[Record]) -> Table:
    lines = []
    for pair in pairs:
        result, (learned, reach, *differences) = pair.first.config, pair_line(pair)
        task = result.task
        where = (task.benchmark, task.recordings, task.model, str(task.goal_distance))
        setting = (*map(number, result.setting), str(pair.first.step_budget))
        recorded = "no" if result.key.option == LEARNED else "yes"
        lines.append((*where, *setting, recorded, reach, learned, *differences))
    return Table(
        (*_HEADER, "reach", "learned", *PAIR_HEADER),
        tuple(lines),
        f"Success in percent, mean ± std over planner seeds; {commits_of(rows)}.",
    )


def _parse(row: Record) -> Record:
    option = row["setting"].get("option")
    if option not in {*_PAIRS, *_PAIRS.values()}:
        # `parse_rows` turns a ValueError into a sentence that names the row.
        raise ValueError(f"option {option!r}")
    return row


LEARNED_REACH = Study(
    name=NAME,
    title="Learned reach",
    question="Does a trained reachability head price bridges better than the model?",
    command=(
        "metro study learned-reach cube --corpus cube-planned.h5 "
        "--model lewm-small-state-cube --graph cube-planned.metro --waypoint-budget 7 "
        "--queries benchmarks/queries/cube-planned-d75.csv "
        "-o results/studies/learned-reach.jsonl"
    ),
    render=render,
)
