"""Renders realisability residuals: are sub-goals states that can exist?"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from metro.analysis.grouping import group_by
from metro.benchmark import benchmark_names, load_benchmark
from metro.errors import BenchmarkError
from metro.evaluation.records import Record
from metro.planners.methods.metro import METRO
from metro.planners.methods.random import RANDOM
from metro.planners.methods.registry import method_names
from metro.report.document import Block, Picture, Table, Text
from metro.report.plots import COLOURS, pyplot, to_png
from metro.report.study import Section, Study
from metro.studies.common import commits_of, parse_rows

COLUMNS = (
    *("benchmark", "model", "method", "planner", "budget", "n", "median"),
    *("quartiles", "/ frame gap", "/ cross gap", "nearest frame"),
)

NAME = "residual"
_METHODS = ("recorded", METRO.name, *method_names(needs_macro=True), RANDOM.name)
_BUDGETS = ("small", "large")
_Place = tuple[str, str, str, str, str]
"""Benchmark, model, method, planner and budget."""
_EXACT = 0.05
"""Share of a frame's gap below which a median counts as zero."""


@dataclass(frozen=True)
class ResidualResult:
    """The residuals of one method in one world at one budget, in the latent's units.

    Attributes:
        planner: What the runs were planned with, in words; empty for a control.
        num_latents: n, those whose world failed left out.
        median: Of r(z), with its 25 % and 75 % quantiles.
        consecutive: Median gap of consecutive frames.
        across: Median gap of frames of two episodes.
        nearest: Median gap to the nearest recorded frame (of another episode).
    """

    benchmark: str
    model: str
    method: str
    planner: str
    budget: str
    num_latents: int
    num_errors: int
    median: float
    lower: float
    upper: float
    consecutive: float
    across: float
    nearest: float

    @property
    def relative(self) -> float:
        """The median in gaps of consecutive frames."""
        return self.median / self.consecutive

    def to_json(self) -> dict[str, Any]:
        """Return the cell as JSON values."""
        return asdict(self) | {"relative": self.relative}

    def to_text(self) -> tuple[str, ...]:
        """Return the cell under `COLUMNS`."""
        failed = f" ({self.num_errors} failed)" if self.num_errors else ""
        return (
            *(self.benchmark, self.model, self.method, self.planner or "-"),
            *(self.budget, f"{self.num_latents}{failed}"),
            f"{self.median:.3f}",
            f"{self.lower:.3f} to {self.upper:.3f}",
            f"{self.relative:.2f}",
            f"{self.median / self.across:.3f}",
            f"{self.nearest:.3f}",
        )


def summarise_residuals(rows: Sequence[Record]) -> list[ResidualResult]:
    """Return a cell for every benchmark, model, planner and budget that has a value."""
    groups = group_by(_unique(rows), _place)
    cells = [_cell(key, groups[key]) for key in sorted(groups, key=_order)]
    # Where every search failed there is no median to show.
    return [cell for cell in cells if cell.num_latents]


def render_residual(rows: Sequence[Record]) -> Section:
    """Return the table, what it says, and a plot for every benchmark."""
    cells = summarise_residuals(rows)
    lines = [(*cell.to_text(), _paper(cell)) for cell in cells]
    blocks: list[Block] = [
        Table(
            (*COLUMNS, "paper"),
            tuple(lines),
            "r(z) = min over states of ‖φ(render(s)) − z‖, Eq. 3; small: 3 × 20 × 384 "
            "renders at most, large: 8 × 30 × 384. Frame gap: median of consecutive "
            "frames; cross gap: of frames of two episodes. The paper's model is "
            f"another one: its numbers are in other units. {commits_of(rows)}.",
        ),
        *(Text(sentence) for sentence in _plateaus(rows, cells)),
    ]
    pictures = {}
    for benchmark in dict.fromkeys(cell.benchmark for cell in cells):
        name = f"residual-{benchmark}-plot.png"
        pictures[name] = draw_residuals(rows, benchmark)
        blocks.append(Picture(name, f"Residuals in {benchmark}, by method and budget"))
    return Section(tuple(blocks), pictures)


def draw_residuals(rows: Sequence[Record], benchmark: str) -> bytes:
    """Return a plot of every residual in a world, over boxes, as PNG bytes."""
    kept = [
        row
        for row in _unique(rows)
        if row["benchmark"] == benchmark and row["residual"] is not None
    ]
    # Latents of two models have different units; frame gaps make them comparable.
    groups = {
        name: sorted(row["residual"] / row["gaps"]["consecutive"] for row in some)
        for name, some in group_by(kept, lambda row: _place(row)[2:]).items()
    }
    names = sorted(groups, key=lambda name: _order(("", "", *name)))
    figure, axes = pyplot().subplots(figsize=(7.2, 3.6), layout="constrained")
    axes.set_title(f"{benchmark}: realisability residual", fontsize=10)
    axes.grid(visible=True, axis="y", alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    places = np.arange(len(names))
    axes.boxplot(
        [groups[name] for name in names],
        positions=places,
        widths=0.5,
        # Every value is drawn as a point below, outliers among them.
        showfliers=False,
        manage_ticks=False,
    )
    for place, name in zip(places, names, strict=True):
        values = groups[name]
        # Steps of the golden ratio spread points evenly, and the same in every report.
        jitter = 0.36 * ((np.arange(len(values)) * 0.618) % 1 - 0.5)
        colour = COLOURS[_BUDGETS.index(name[-1])]
        axes.scatter(place + jitter, values, s=12, color=colour, alpha=0.7, zorder=3)
    axes.set_xticks(places, ["\n".join(filter(None, name)) for name in names])
    axes.tick_params(axis="x", labelsize=7)
    axes.set_ylabel("r(z) / gap of consecutive frames")
    # Zero must be in sight: a latent of a real state reaches it.
    axes.set_ylim(bottom=0)
    return to_png(figure)


def _unique(rows: Sequence[Record]) -> list[Record]:
    """Return one row per measurement, in an order that is the rows' own."""
    kept: dict[tuple[str, ...], Record] = {}
    for key, row in parse_rows(rows, NAME, _parse):
        known = kept.setdefault(key, row)
        if known["residual"] != row["residual"]:
            raise BenchmarkError(
                f"The study {NAME} has two residuals of the latent {key[-1]} "
                f"({', '.join(key[:4])}): {known['residual']} and {row['residual']}. "
                f"Remove one."
            )
    return [kept[key] for key in sorted(kept)]


def _parse(row: Record) -> tuple[tuple[str, ...], Record]:
    """Return what a row measures, and the row."""
    if row["method"] not in _METHODS or row["budget"] not in _BUDGETS:
        raise ValueError(f"{row['method']} with budget {row['budget']}")
    # Converted only to fail here, where the row can still be named.
    if row["residual"] is not None:
        float(row["residual"])
    float(row["nearest"]["gap"])
    float(row["gaps"]["consecutive"]), float(row["gaps"]["across"])
    digests = (row[part]["digest"] for part in ("model", "corpus", "latent"))
    seed = str(row["seed"])
    key = (row["benchmark"], *_source(row), row["budget"], seed, *map(str, digests))
    return key, row


def _place(row: Record) -> _Place:
    """Return the cell that a row belongs to."""
    # With the digest: two models may have the same name.
    model = f"{row['model']['name']} ({str(row['model']['digest'])[:8]})"
    return row["benchmark"], model, *_source(row), row["budget"]


def _source(row: Record) -> tuple[str, str]:
    """Return the method, and what its runs were planned with, in words."""
    setting, method = row["setting"], str(row["method"])
    if not setting:
        return method, ""
    if setting.get("macro_steps") is not None:
        return method, f"h_h = {setting['macro_steps']}"
    return method, f"h = {setting['plan_blocks']}, H = {setting['waypoint_budget']}"


def _order(key: _Place) -> tuple[Any, ...]:
    benchmark, model, method, planner, budget = key
    return benchmark, model, _METHODS.index(method), planner, _BUDGETS.index(budget)


def _cell(key: _Place, rows: Sequence[Record]) -> ResidualResult:
    found = [row["residual"] for row in rows if row["residual"] is not None]
    # An empty list has no quantiles; such cells are dropped later.
    lower, median, upper = (
        np.quantile(found, [0.25, 0.5, 0.75]) if found else [np.nan] * 3
    )
    # Equal in all rows of a corpus, for they are drawn with a fixed seed.
    gaps = rows[0]["gaps"]
    return ResidualResult(
        *key,
        num_latents=len(found),
        num_errors=len(rows) - len(found),
        median=float(median),
        lower=float(lower),
        upper=float(upper),
        consecutive=gaps["consecutive"],
        across=gaps["across"],
        nearest=float(np.median([row["nearest"]["gap"] for row in rows])),
    )


def _paper(cell: ResidualResult) -> str:
    """Return the paper's median, which is of LeWM; other models have other units."""
    if cell.benchmark not in benchmark_names() or "lewm" not in cell.model:
        return ""
    medians = load_benchmark(cell.benchmark).paper.get("residual", {})
    median = medians.get(cell.method, {}).get(cell.budget)
    return "" if median is None else f"{median:.2f}"


def _plateaus(rows: Sequence[Record], cells: Sequence[ResidualResult]) -> list[str]:
    """Return a sentence for every method that was searched with both budgets."""
    sentences = []
    for cell in cells:
        if cell.budget != "large":
            continue
        same = [
            row
            for row in rows
            if _place(row)[:4]
            == (cell.benchmark, cell.model, cell.method, cell.planner)
        ]
        # Of the latents that have both rows, so that like is compared with like.
        large = {row["latent"]["digest"] for row in same if row["budget"] == "large"}
        both = [row for row in same if row["latent"]["digest"] in large]
        medians = {c.budget: c for c in summarise_residuals(both)}
        if "small" in medians:
            sentences.append(_plateau(medians["small"], medians["large"]))
    return sentences


def _plateau(small: ResidualResult, large: ResidualResult) -> str:
    verdict = (
        "zero: such states exist"
        if large.relative < _EXACT
        else "above zero, after four times the renders"
    )
    return (
        f"{large.benchmark}, {large.model}, {large.method}"
        f"{f', {large.planner}' if large.planner else ''}: the median of "
        f"{large.num_latents} latents goes from {small.median:.3f} to "
        f"{large.median:.3f}, {verdict}."
    )


RESIDUAL = Study(
    name=NAME,
    title="Are sub-goals realisable?",
    question=(
        "How far is a sub-goal from the nearest state that can exist, and "
        "does a larger search find a nearer one?"
    ),
    command=(
        "metro residual BENCHMARK --method hi-lewm-c --budget small --budget large "
        "--corpus CORPUS --model MODEL --latents LATENTS --macro MACRO "
        "-o results/studies/residual.jsonl"
    ),
    render=render_residual,
)
