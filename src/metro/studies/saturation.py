"""Latent gaps against frames: from how many frames on they say nothing."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from metro.analysis.formatting import NOTHING, number
from metro.analysis.paper import paper_table
from metro.core.gap_saturation import Saturation, measure_saturation
from metro.core.latents import Latents
from metro.errors import BenchmarkError, LatentsError, short
from metro.evaluation.records import Record
from metro.report.document import Picture, Table, Text
from metro.report.study import Section, Study
from metro.storage.readers import read_latents
from metro.studies.common import (
    commits_of,
    measure_missing,
    parse_rows,
    require_once,
)
from metro.types import Progress
from metro.version import __version__, commit

NAME = "saturation"
LONGEST = 75
"""Frames of the longest gap, as in the paper's figure."""
NUM_SAMPLES = 5_000
SATURATED = 0.9
"""Share of the cross-episode gap from which on we call a curve flat."""

_SHOWN = (1, 5, 10, 25, 50, 75)
_PICTURE = "saturation.png"
_READING = (
    "Median gap between two frames of an episode, d frames apart, over the median gap "
    "between frames of different episodes; at 1 a state d frames away looks like any "
    "other. The band of the plot is the interquartile range. The paper gives four "
    "points of PushT, without naming the encoder."
)


def run(
    files: Sequence[Path], output: Path, num_samples: int, seed: int, progress: Progress
) -> list[dict[str, Any]]:
    """Measure all latents that ``output`` has no row of; return the rows of all."""
    if num_samples < 1 or seed < 0:
        raise BenchmarkError(
            f"--num-samples must be 1 or more and --seed 0 or more, got "
            f"{num_samples} and {seed}."
        )

    # A generator, so that one file's latents are in memory at a time.
    def wanted() -> Iterator[Any]:
        for path in files:
            latents = read_latents(path)
            row = describe(latents, num_samples=num_samples, seed=seed)
            yield row, partial(measure, latents, row)

    rows = []
    for row in measure_missing(wanted(), output, run_key):
        rows.append(row)
        progress(len(rows), len(files))
    return rows


def run_key(row: Record) -> tuple[str, str]:
    """Return what a row measures: equal keys, equal curves."""
    return row["latents"], str(sorted(row["setting"].items()))


def describe(
    latents: Latents, *, num_samples: int = NUM_SAMPLES, seed: int = 0
) -> dict[str, Any]:
    """Return a row without its curve: which latents, measured how."""
    made = latents.provenance
    parts = [made.get(part) for part in ("model", "corpus")]
    digests = [part.get("digest") for part in parts if isinstance(part, Mapping)]
    if len(digests) < 2 or None in digests or not made.get("benchmark"):
        raise LatentsError(
            "These latents do not say of which model, corpus and benchmark they are. "
            "Make them with metro encode."
        )
    return {
        "study": NAME,
        "benchmark": made["benchmark"],
        "model": dict(made["model"]),
        "corpus": dict(made["corpus"]),
        "latents": latents.digest,
        "frames": latents.num_frames,
        "episodes": latents.num_episodes,
        "setting": {"longest": LONGEST, "num_samples": num_samples, "seed": seed},
        "versions": {"metro-wm": __version__, "numpy": np.__version__}
        | {"commit": commit()},
    }


def measure(latents: Latents, row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with its curve: every d = 1, ..., 75 that the episodes have.

    Paper: Sec. E.
    """
    setting = row["setting"]
    measured = measure_saturation(
        latents,
        range(1, setting["longest"] + 1),
        num_samples=setting["num_samples"],
        seed=setting["seed"],
    )
    if not measured:
        raise LatentsError(
            f"Saturation needs two episodes that differ, of two frames or more; these "
            f"latents have {latents.num_episodes} episodes. Record more."
        )
    return {**row, "curve": [asdict(point) for point in measured]}


class Curve(NamedTuple):
    """What one row says; curves are sorted by these values."""

    benchmark: str
    model: str
    latents: str
    num_samples: int
    seed: int
    points: tuple[Saturation, ...]


def render(rows: Sequence[Record]) -> Section:
    """Return the table of medians and the plot of all curves."""
    curves = sorted(parse_rows(rows, NAME, _parse), key=lambda curve: curve[:3])
    names = [f"{one.benchmark}, {one.model} ({short(one.latents)})" for one in curves]
    require_once(names, NAME)
    paper = {
        (cell["benchmark"], cell["d"]): cell["median"] for cell in paper_table(NAME)
    }
    lines = [_line(curve) for curve in curves]
    lines += [
        (name, "paper", *(number(paper.get((name, d)), ".2f") for d in _SHOWN), NOTHING)
        for name in sorted({benchmark for benchmark, _ in paper})
    ]
    samples = sorted({curve.num_samples for curve in curves})
    seeds = sorted({curve.seed for curve in curves})
    header = ("benchmark", "model", *(f"d = {d}" for d in _SHOWN))
    table = Table(
        (*header, f"first d at {SATURATED}"),
        tuple(lines),
        f"{', '.join(f'{n:,}' for n in samples)} pairs per distance, seed "
        f"{', '.join(map(str, seeds))}; {commits_of(rows)}.",
    )
    picture = Picture(_PICTURE, "latent gap against frames, one panel per benchmark")
    return Section((Text(_READING), table, picture), {_PICTURE: draw(curves)})


def draw(curves: Sequence[Curve]) -> bytes:
    """Return the curves as a PNG file, a panel for each benchmark."""
    from metro.report.plots import COLOURS, pyplot, to_png

    names = sorted({curve.benchmark for curve in curves})
    figure, panels = pyplot().subplots(
        1,
        len(names),
        figsize=(1.2 + 2.9 * len(names), 3.4),
        layout="constrained",
        sharey=True,
        # A single benchmark must give a table of panels too.
        squeeze=False,
    )
    for axes, name in zip(panels[0], names, strict=True):
        some = [curve for curve in curves if curve.benchmark == name]
        # Curves beyond the last colour are left to the table.
        for curve, colour in zip(some, COLOURS, strict=False):
            d, median, low, high = np.array(
                [(p.distance, p.median, p.lower, p.upper) for p in curve.points]
            ).T
            axes.plot(d, median, color=colour, label=curve.model)
            axes.fill_between(d, low, high, color=colour, alpha=0.15, lw=0)
        axes.axhline(1, color="#999999", linestyle=":", linewidth=1)
        axes.set_title(name, fontsize=10)
        axes.set(xlabel="d, frames", xlim=(0, None), ylim=(0, None))
        axes.grid(visible=True, alpha=0.25)
        axes.legend(frameon=False, fontsize=7, loc="lower right")
    panels[0][0].set_ylabel("gap over cross-episode gap")
    return to_png(figure)


def _parse(row: Record) -> Curve:
    points = tuple(Saturation(**point) for point in row["curve"])
    if not points:
        raise ValueError("the curve is empty")
    names = (str(row["benchmark"]), str(row["model"]["name"]), str(row["latents"]))
    setting = row["setting"]
    return Curve(*names, int(setting["num_samples"]), int(setting["seed"]), points)


def _line(curve: Curve) -> tuple[str, ...]:
    medians = {point.distance: point.median for point in curve.points}
    # The curve may never be flat; episodes may be too short for the last columns.
    flat = (str(d) for d, median in medians.items() if median >= SATURATED)
    last = next(flat, f"over {curve.points[-1].distance}")
    return (*curve[:2], *(number(medians.get(d), ".2f") for d in _SHOWN), last)


SATURATION = Study(
    name=NAME,
    title="Saturation of latent gaps",
    question="From how many frames on do latent gaps say nothing?",
    command=(
        "metro saturation tworoom.latents reacher.latents "
        "-o results/studies/saturation.jsonl"
    ),
    render=render,
)
