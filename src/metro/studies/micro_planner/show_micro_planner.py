"""Renders how much of a stronger micro planner's gain reaches far goals."""

from collections.abc import Sequence
from typing import Any

from metro.analysis.comparison import Difference, method_rank
from metro.analysis.config_results import ConfigResult
from metro.analysis.formatting import number, plus_minus
from metro.analysis.grouping import group_by, group_rows
from metro.analysis.paper import paper_table
from metro.evaluation.records import Record
from metro.planners.methods.flat import FLAT
from metro.planners.methods.metro import METRO
from metro.planners.methods.oracle import ORACLE
from metro.report.document import Table, Text
from metro.report.study import Section, Study
from metro.report.tables import PAIR_HEADER
from metro.studies.common import (
    commits_of,
    notes_of,
    pair_line,
    pair_up,
    parse_rows,
)

NAME = "micro-planner"
METHODS = (FLAT.name, METRO.name, ORACLE.name)
BASE, FINE_TUNED = "base", "fine-tuned"

_MODELS = ("base model", "fine-tuned model")
_HEADER = ("benchmark", *_MODELS, "d", "method", "h", "H", "T")

_READING = (
    "The same queries and seeds planned with a world model and with a fine-tuned one. "
    "The encoder is the same, so one graph serves both, unless two graphs are named. "
    "Points: fine-tuned minus base; the interval draws queries with all their seeds; p "
    "is McNemar's exact test."
)
_UNPAIRED = "Not run: both models with the same method, setting and queries."
_PAPER = (
    "Success in percent, PushT with the released LeWM and a fine-tuned one; the paper "
    "does not say what was fine-tuned."
)


def render(rows: Sequence[Record]) -> Section:
    """Return base and fine-tuned side by side, and the paper's own table.

    Paper: Sec. F.2.
    """
    groups = group_by(parse_rows(rows, NAME, _parse), _base_and_role)
    pairs = [
        pair
        for (base, role), some in groups.items()
        if role == FINE_TUNED and (base, BASE) in groups
        for pair in _pairs(group_rows(some), group_rows(groups[base, BASE]))
    ]
    pairs.sort(key=_order)
    ours = _table(pairs, rows) if pairs else Text(_UNPAIRED)
    # The base first, as in the table.
    lines = [line for pair in pairs for line in reversed(pair.both)]
    notes = notes_of(line.config for line in lines)
    return Section((Text(_READING), ours, _paper_table(), *notes))


def _pairs(
    tuned: Sequence[ConfigResult], base: Sequence[ConfigResult]
) -> list[Difference]:
    """Return every fine-tuned result beside the base's of the same queries."""
    known = {_model_free_key(result): result for result in base}
    found = [
        pair_up(result, known[_model_free_key(result)])
        for result in tuned
        if _model_free_key(result) in known
    ]
    return [pair for pair in found if pair is not None]


def _model_free_key(result: ConfigResult) -> tuple[Any, ...]:
    """Return what was planned, whichever of the two models planned it."""
    task = result.task
    # The first digest is the model's, the others are of corpus and queries.
    where = (task.benchmark, task.digests[1:], task.goal_distance)
    return (*where, result.method, *result.setting)


def _order(pair: Difference) -> tuple[Any, ...]:
    result = pair.first.config
    task = result.task
    setting = (result.plan_blocks, result.waypoint_budget or 0)
    where = (task.benchmark, task.model, task.goal_distance)
    return (*where, method_rank(result.key), *setting)


def _table(pairs: Sequence[Difference], rows: Sequence[Record]) -> Table:
    lines = []
    for pair in pairs:
        # The gain is fine-tuned minus base, but a table reads from base to fine-tuned.
        result, (tuned, base, *differences) = pair.first.config, pair_line(pair)
        task = result.task
        shown = (str(task.goal_distance), result.method, *map(number, result.setting))
        models = [_model(line.config) for line in reversed(pair.both)]
        where = (task.benchmark, *models, *shown, str(pair.first.step_budget))
        lines.append((*where, base, tuned, *differences))
    return Table(
        (*_HEADER, BASE, FINE_TUNED, *PAIR_HEADER),
        tuple(lines),
        f"Success in percent, mean ± std over planner seeds; {commits_of(rows)}.",
    )


def _model(result: ConfigResult) -> str:
    """Return a model's name and digest: a fine-tuned one may have its base's name."""
    return f"{result.task.model} ({result.task.digests[0][:8]})"


def _paper_table() -> Table:
    lines = [
        (
            str(one["d"]),
            one["method"],
            f"{one['base']:.2f}",
            plus_minus(one["mean"], one["std"]),
            f"{one['mean'] - one['base']:+.2f}",
        )
        for one in paper_table("micro_planner")
    ]
    header = ("d", "method", "paper, LeWM", "paper, LeWM (ft)", "points")
    return Table(header, tuple(lines), _PAPER)


def _parse(row: Record) -> Record:
    if _base_and_role(row)[1] not in (BASE, FINE_TUNED):
        # `parse_rows` turns a ValueError into a sentence that names the row.
        raise ValueError(f"role {row['role']!r}")
    return row


def _base_and_role(row: Record) -> tuple[str, str]:
    return str(row["base"]), str(row["role"])


MICRO_PLANNER = Study(
    name=NAME,
    title="A stronger micro planner",
    question="Does a better world model help far goals, and does it need sub-goals?",
    command=(
        "metro study micro-planner tworoom --corpus tworoom.h5 "
        "--model lewm-small-tworoom --fine-tuned tuned.safetensors "
        "--graph tworoom.metro --waypoint-budget 8 "
        "-o results/studies/micro-planner.jsonl"
    ),
    render=render,
)
