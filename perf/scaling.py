"""How the time of the table grows with the number of frames."""

from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from metro.core.neighbours import SMALL, find_neighbours
from metro.errors import MissingExtra
from perf.case import NUM_NEIGHBOURS, Case
from perf.measuring import Row, timed, with_ratios
from perf.table import is_exact, measure_products, warm_up

_STEPS = 4


def sizes_up_to(num_frames: int) -> list[int]:
    """Return a few corpus sizes, evenly spaced on a log scale, all with cells."""
    least = max(SMALL, num_frames // 8)
    sizes = np.geomspace(min(least, num_frames), num_frames, _STEPS)
    return [int(size) for size in np.unique(sizes.round())]


def measure_scaling(cases: Iterable[Case]) -> list[Row]:
    """Return two rows a corpus: ours, and matrix products with a scan."""
    rows: list[Row] = []
    for case in cases:
        latents, threads = case.latents, case.threads
        warm_up(threads)
        case.tell(f"our table, {latents.num_frames:,} frames")
        seconds, table = timed(
            find_neighbours, latents, NUM_NEIGHBOURS, workers=threads
        )
        exact = is_exact(table, case.truth)
        pair = [case.row("scaling", "metro", seconds=seconds, exact=exact)]
        pair.append({**measure_products(case)[0], "kind": "scaling"})
        rows += with_ratios(pair, seconds)
    return _with_exponents(rows)


def _with_exponents(rows: list[Row]) -> list[Row]:
    exponents = {method: exponent(rows, method) for method in _methods(rows)}
    return [
        {
            **row,
            "exponent": exponents[row["method"]],
            "note": _note(exponents[row["method"]]),
        }
        for row in rows
    ]


def exponent(rows: Sequence[Row], method: str) -> float | None:
    """Return b of seconds ~ N^b by least squares in log-log; None: too few sizes."""
    picked = [row for row in rows if row["method"] == method]
    frames = np.log([row["num_frames"] for row in picked])
    if len(np.unique(frames)) < 2:
        return None
    return float(np.polyfit(frames, np.log([row["seconds"] for row in picked]), 1)[0])


def plot_scaling(rows: Sequence[Row], path: str | Path) -> None:
    """Draw seconds against frames, both logarithmic, with the fitted exponents."""
    picked = [row for row in rows if row["kind"] == "scaling"]
    figure, axes = _pyplot().subplots(figsize=(5.5, 4), layout="constrained")
    for method in _methods(picked):
        points = [row for row in picked if row["method"] == method]
        label = f"{method}, {_note(exponent(points, method))}"
        frames = [row["num_frames"] for row in points]
        axes.loglog(frames, [row["seconds"] for row in points], "o-", label=label)
    axes.set(xlabel="frames", ylabel="seconds", title=picked[0]["data"])
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=150)
    _pyplot().close(figure)


def _methods(rows: Sequence[Row]) -> list[str]:
    return list(dict.fromkeys(row["method"] for row in rows))


def _note(grows: float | None) -> str:
    return "too few sizes to fit" if grows is None else f"grows like N^{grows:.2f}"


def _pyplot() -> Any:
    try:
        import_module("matplotlib").use("agg")
    except ImportError:
        raise MissingExtra(
            "A plot needs matplotlib. Cure: pip install 'metro-wm[bench]'"
        ) from None
    return import_module("matplotlib.pyplot")
