"""A stronger micro planner: how much of its gain reaches far goals, and with whom."""

from collections.abc import Mapping, Sequence
from typing import Any

from metro.analysis.comparison import ORDER
from metro.analysis.config_results import ConfigResult
from metro.analysis.grouping import make_cells
from metro.report.document import Block, Table, Text
from metro.report.study import Row, Section, Study
from metro.studies.common import (
    PAIR_HEADER,
    PairedResults,
    commits_of,
    notes_of,
    pair_up,
    paper_table,
    read_each,
)

NAME = "micro-planner"
METHODS = ("flat", "metro", "oracle")
BASE, FINE_TUNED = "base", "fine-tuned"

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


def render(rows: Sequence[Row]) -> Section:
    """Return base and fine-tuned side by side, and the paper's own table.

    Paper: Sec. F.2.
    """
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for key, row in read_each(rows, NAME, _read):
        groups.setdefault(key, []).append(row)
    pairs = [
        pair
        for (base, role), some in groups.items()
        if role == FINE_TUNED and (base, BASE) in groups
        for pair in _pairs(make_cells(some), make_cells(groups[base, BASE]))
    ]
    pairs.sort(key=_order)
    blocks: list[Block] = [Text(_READING)]
    blocks.append(_table(pairs, rows) if pairs else Text(_UNPAIRED))
    blocks.append(_paper())
    lines = [line for pair in pairs for line in (pair.second, pair.first)]
    return Section((*blocks, *notes_of(line.cell for line in lines)))


def _pairs(
    tuned: Sequence[ConfigResult], base: Sequence[ConfigResult]
) -> list[PairedResults]:
    """Return every fine-tuned cell beside the base cell of the same question."""
    known = {_asked(cell): cell for cell in base}
    both = [(cell, known[_asked(cell)]) for cell in tuned if _asked(cell) in known]
    found = [pair_up(cell, other) for cell, other in both]
    return [pair for pair in found if pair is not None]


def _asked(cell: ConfigResult) -> tuple[Any, ...]:
    """Return what a cell was asked, whichever model answered."""
    task = cell.task
    return (
        task.benchmark,
        task.digests[1:],
        task.goal_distance,
        cell.method,
        *cell.setting,
    )


def _order(pair: PairedResults) -> tuple[Any, ...]:
    cell = pair.first.cell
    task = cell.task
    place = ORDER.index(cell.method)
    setting = (cell.plan_blocks, cell.waypoint_budget or 0)
    return (task.benchmark, task.model, task.goal_distance, place, *setting)


def _table(pairs: Sequence[PairedResults], rows: Sequence[Row]) -> Table:
    lines = []
    for pair in pairs:
        cell, (tuned, base, *told) = pair.first.cell, pair.texts
        setting = (cell.task.goal_distance, cell.method, *cell.setting)
        shown = ["-" if value is None else str(value) for value in setting]
        models = [_model(line.cell) for line in (pair.second, pair.first)]
        where = (cell.task.benchmark, *models, *shown, str(pair.first.step_budget))
        lines.append((*where, base, tuned, *told))
    header = (
        "benchmark",
        "base model",
        "fine-tuned model",
        "d",
        "method",
        "h",
        "H",
        "T",
    )
    return Table(
        (*header, BASE, FINE_TUNED, *PAIR_HEADER),
        tuple(lines),
        f"Success in percent, mean ± std over planner seeds; {commits_of(rows)}.",
    )


def _model(cell: ConfigResult) -> str:
    """Return a model's name and digest: a fine-tuned one may have its base's name."""
    return f"{cell.task.model} ({cell.task.digests[0][:8]})"


def _paper() -> Table:
    lines = [
        (
            str(told["d"]),
            told["method"],
            f"{told['base']:.2f}",
            f"{told['mean']:.2f} ± {told['std']:.2f}",
            f"{told['mean'] - told['base']:+.2f}",
        )
        for told in paper_table("micro_planner")
    ]
    header = ("d", "method", "paper, LeWM", "paper, LeWM (ft)", "points")
    return Table(header, tuple(lines), _PAPER)


def _read(row: Row) -> tuple[tuple[str, str], Row]:
    if row["role"] not in (BASE, FINE_TUNED):
        raise ValueError(f"role {row['role']!r}")
    return (str(row["base"]), str(row["role"])), row


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
