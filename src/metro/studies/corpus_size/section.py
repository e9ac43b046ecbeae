"""Success against the share of the episodes that the graph is made of."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metro.analysis.comparison import MethodResult
from metro.analysis.config_results import ConfigResult
from metro.analysis.formatting import percent
from metro.analysis.grouping import make_cells
from metro.errors import BenchmarkError
from metro.report.document import Picture, Table, Text
from metro.report.study import Row, Section, Study
from metro.studies.common import (
    NONE,
    commits_of,
    notes_of,
    paper_table,
    read_each,
)

NAME = "corpus-size"
SHARES = (1.0, 3.0, 10.0, 100.0)
"""Percent of the episodes, as in the paper."""
FEWEST = 2
"""Episodes of a graph: the query's own may be one of them and is held out."""
DISTANCE = 75
"""Frames to the goal, of the paper's table."""

_PICTURE = "corpus-size.png"
_READING = (
    "Metro on the same queries with graphs of nested shares of the episodes. Each "
    "graph is rebuilt: pricing curve, neighbours and bridges know only its own "
    "episodes, and the query's episode is held out where it is among them. The "
    "paper's corpora are larger: 1 % is 187 episodes on PushT and 100 elsewhere."
)


@dataclass(frozen=True)
class Part:
    """A share of the episodes, and which."""

    share: float
    seed: int
    episodes: int


def choose_episodes(num_episodes: int, share: float, seed: int) -> NDArray[np.int64]:
    """Return the episodes of a share in percent, sorted.

    One order of all episodes is drawn from the seed, and a share is its beginning: a
    smaller one is contained in every larger one. Paper: Sec. 6.3. Decision: D26.

    Raises:
        BenchmarkError: If the share is not in (0, 100], or leaves fewer than two.
    """
    if not 0 < share <= 100:
        raise BenchmarkError(f"A share must be in (0, 100] percent, got {share:g}.")
    count = round(num_episodes * share / 100)
    if count < FEWEST:
        raise BenchmarkError(
            f"{share:g} % of {num_episodes} episodes is {count}; a graph needs at "
            f"least {FEWEST}, for the query's own is held out. Use a larger "
            f"share or corpus."
        )
    order = np.random.default_rng(seed).permutation(num_episodes)
    return np.sort(order[:count])


def render(rows: Sequence[Row]) -> Section:
    """Return success at every share, with the paper's beside it, and a plot."""
    cells = _cells(rows)
    paper = {
        (told["benchmark"], told["family"], float(told["share"])): told
        for told in paper_table("corpus_size")
    }
    lines = []
    for part, cell in cells:
        line = MethodResult(cell.method, cell, cell.step_budget)
        low, high = line.interval
        told = paper.get((cell.task.benchmark, cell.task.family, part.share))
        is_theirs = told is not None and cell.task.goal_distance == DISTANCE
        lines.append(
            (
                cell.task.benchmark,
                cell.task.corpus,
                cell.task.model,
                f"{part.share:.3g} %",
                f"{part.episodes:,}",
                str(cell.task.goal_distance),
                str(cell.plan_blocks),
                str(cell.waypoint_budget),
                str(line.step_budget),
                percent(*line.over_seeds),
                f"{100 * low:.1f} to {100 * high:.1f}",
                str(line.num_runs),
                f"{told['mean']:.2f} ± {told['std']:.2f}"
                if told and is_theirs
                else NONE,
            )
        )
    header = ("benchmark", "corpus", "model", "share", "episodes", "d", "h", "H", "T")
    seeds = ", ".join(sorted({str(part.seed) for part, _ in cells}))
    table = Table(
        (*header, "success", "95 %", "runs", "paper"),
        tuple(lines),
        f"Success in percent; episodes drawn with seed {seeds}; {commits_of(rows)}.",
    )
    picture = Picture(_PICTURE, "success against the share of the episodes")
    blocks = (Text(_READING), table, picture, *notes_of(cell for _, cell in cells))
    return Section(blocks, {_PICTURE: draw(cells)})


def draw(cells: Sequence[tuple[Part, ConfigResult]]) -> bytes:
    """Return success against share as a PNG file, with Wilson's intervals."""
    from metro.report.plots import COLOURS, pyplot, to_png

    figure, axes = pyplot().subplots(figsize=(6.4, 4.4), layout="constrained")
    curves: dict[str, list[tuple[float, MethodResult]]] = {}
    for part, cell in cells:
        name = f"{cell.task.benchmark} ({cell.task.corpus}), {cell.name}"
        line = MethodResult(cell.method, cell, cell.step_budget)
        curves.setdefault(f"{name}, T = {line.step_budget}", []).append(
            (part.share, line)
        )
    for place, (name, points) in enumerate(sorted(curves.items())):
        colour = COLOURS[place % len(COLOURS)]
        shares = [share for share, _ in points]
        success = np.array([100 * line.success for _, line in points])
        ends = 100 * np.array([line.interval for _, line in points])
        errors = np.abs(ends.T - success)
        axes.errorbar(
            shares, success, errors, color=colour, label=name, marker="o", capsize=3
        )
    axes.set_xscale("log")
    shown = sorted({part.share for part, _ in cells})
    axes.set_xticks(shown, [f"{share:.3g}" for share in shown], minor=False)
    axes.minorticks_off()
    axes.set(xlabel="share of the episodes, %", ylabel="success, %", ylim=(-3, 103))
    axes.grid(visible=True, alpha=0.25)
    figure.legend(frameon=False, fontsize=8, loc="outside lower left")
    return to_png(figure)


def _cells(rows: Sequence[Row]) -> list[tuple[Part, ConfigResult]]:
    """Return the cells of every part, by task and falling share."""
    groups: dict[Part, list[Mapping[str, object]]] = {}
    for part, row in read_each(rows, NAME, _read):
        groups.setdefault(part, []).append(row)
    found = [(part, cell) for part, some in groups.items() for cell in make_cells(some)]
    return sorted(
        found,
        key=lambda one: (
            one[1].task,
            one[1].plan_blocks,
            one[1].waypoint_budget or 0,
            one[0].seed,
            -one[0].share,
        ),
    )


def _read(row: Row) -> tuple[Part, Row]:
    told = Part(float(row["share"]), int(row["subset_seed"]), int(row["episodes_used"]))
    return told, row


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
