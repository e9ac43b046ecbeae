"""Renders success against the share of the episodes that the graph is made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from metro.analysis.config_results import ConfigResult, MethodResult
from metro.analysis.formatting import NOTHING, ends, percent, plus_minus
from metro.analysis.grouping import group_by, group_rows
from metro.analysis.paper import paper_table
from metro.evaluation.records import Record
from metro.report.document import Picture, Table, Text
from metro.report.study import Section, Study
from metro.studies.common import commits_of, notes_of, parse_rows

NAME = "corpus-size"
_PAPER_DISTANCE = 75
"""Frames to the goal in the paper's table."""
_HEADER = ("benchmark", "corpus", "model", "share", "episodes", "d", "h", "H", "T")
_PICTURE = "corpus-size.png"
_READING = (
    "Metro on the same queries with graphs of nested shares of the episodes. Each "
    "graph is rebuilt: pricing curve, neighbours and bridges know only its own "
    "episodes, and the query's episode is held out where it is among them. The "
    "paper's corpora are larger: 1 % is 187 episodes on PushT and 100 elsewhere."
)


@dataclass(frozen=True)
class Subset:
    """Which share of the episodes, chosen with which seed, and how many they are."""

    share: float
    seed: int
    episodes: int


def render(rows: Sequence[Record]) -> Section:
    """Return success at every share, with the paper's beside it, and a plot."""
    results = _results(rows)
    paper = {
        (one["benchmark"], one["family"], float(one["share"])): one
        for one in paper_table("corpus_size")
    }
    seeds = ", ".join(sorted({str(subset.seed) for subset, _ in results}))
    table = Table(
        (*_HEADER, "success", "95 %", "runs", "paper"),
        tuple(_line(subset, result, paper) for subset, result in results),
        f"Success in percent; episodes drawn with seed {seeds}; {commits_of(rows)}.",
    )
    picture = Picture(_PICTURE, "success against the share of the episodes")
    notes = notes_of(result for _, result in results)
    return Section((Text(_READING), table, picture, *notes), {_PICTURE: draw(results)})


def _line(
    subset: Subset, result: ConfigResult, paper: Mapping[Any, Mapping[str, Any]]
) -> tuple[str, ...]:
    task, line = result.task, MethodResult(result.method, result, result.step_budget)
    theirs = paper.get((task.benchmark, task.family, subset.share))
    # The paper's table is of one d, and says nothing about others.
    if theirs is None or task.goal_distance != _PAPER_DISTANCE:
        reported = NOTHING
    else:
        reported = plus_minus(theirs["mean"], theirs["std"])
    return (
        task.benchmark,
        task.corpus,
        task.model,
        f"{subset.share:.3g} %",
        f"{subset.episodes:,}",
        str(task.goal_distance),
        str(result.plan_blocks),
        str(result.waypoint_budget),
        str(line.step_budget),
        percent(*line.over_seeds),
        ends(line.interval),
        str(line.num_runs),
        reported,
    )


def draw(results: Sequence[tuple[Subset, ConfigResult]]) -> bytes:
    """Return success against share as a PNG file, with Wilson's intervals."""
    from metro.report.plots import COLOURS, pyplot, to_png

    figure, axes = pyplot().subplots(figsize=(6.4, 4.4), layout="constrained")
    curves: dict[str, list[tuple[float, MethodResult]]] = {}
    for subset, result in results:
        name = f"{result.task.benchmark} ({result.task.corpus}), {result.name}"
        line = MethodResult(result.method, result, result.step_budget)
        curve = curves.setdefault(f"{name}, T = {line.step_budget}", [])
        curve.append((subset.share, line))
    for place, (name, points) in enumerate(sorted(curves.items())):
        shares = [share for share, _ in points]
        success = np.array([100 * line.success for _, line in points])
        ends = 100 * np.array([line.interval for _, line in points])
        look = {"color": COLOURS[place % len(COLOURS)], "marker": "o", "capsize": 3}
        # matplotlib takes the lengths of error bars, not their ends.
        axes.errorbar(shares, success, np.abs(ends.T - success), label=name, **look)
    # Shares are factors apart: on a linear axis 1, 3 and 10 % would touch.
    axes.set_xscale("log")
    shown = sorted({subset.share for subset, _ in results})
    axes.set_xticks(shown, [f"{share:.3g}" for share in shown], minor=False)
    # A log axis adds ticks in between, at shares that nobody ran.
    axes.minorticks_off()
    # Wider than 0 to 100: markers at the ends would be cut in half.
    axes.set(xlabel="share of the episodes, %", ylabel="success, %", ylim=(-3, 103))
    axes.grid(visible=True, alpha=0.25)
    figure.legend(frameon=False, fontsize=8, loc="outside lower left")
    return to_png(figure)


def _results(rows: Sequence[Record]) -> list[tuple[Subset, ConfigResult]]:
    """Return the results of every subset, by task and falling share."""
    groups = group_by(parse_rows(rows, NAME, _parse), lambda parsed: parsed[0])
    found = [
        (subset, result)
        for subset, some in groups.items()
        for result in group_rows(row for _, row in some)
    ]
    return sorted(found, key=_order)


def _order(one: tuple[Subset, ConfigResult]) -> tuple[Any, ...]:
    subset, result = one
    setting = (result.plan_blocks, result.waypoint_budget or 0)
    # Falling share: each line then shows what fewer episodes lose.
    return (result.task, *setting, subset.seed, -subset.share)


def _parse(row: Record) -> tuple[Subset, Record]:
    # Converted here, where `parse_rows` can say which row is wrong.
    share, seed = float(row["share"]), int(row["subset_seed"])
    return Subset(share, seed, int(row["episodes_used"])), row


CORPUS_SIZE = Study(
    name=NAME,
    title="Corpus size",
    question="How few recorded episodes are enough?",
    command=(
        "metro study corpus-size tworoom --corpus tworoom.h5 "
        "--model lewm-small-tworoom --graph tworoom.metro --waypoint-budget 8 "
        "-o results/studies/corpus-size.jsonl"
    ),
    render=render,
)
