"""The plots of a report, as PNG bytes: success within T, success against seconds."""

from collections.abc import Sequence
from importlib import import_module
from io import BytesIO
from typing import Any

import numpy as np

from metro.analysis.comparison import (
    FLAT_BEST,
    FLAT_PAPER,
    METRO,
    ORDER,
    MethodResult,
    budgets_of,
    lines_of,
    longest,
    methods_of,
)
from metro.analysis.config_results import WITHOUT_PLANS, ConfigResult, front
from metro.analysis.statistics import wilson
from metro.errors import MissingExtra

COLOURS = (
    *("#0072b2", "#d55e00", "#e69f00", "#009e73", "#cc79a7", "#56b4e9"),
    *("#8c564b", "#7f7f7f", "#bcbd22", "#17becf", "#000000", "#9467bd"),
)
_MARKS = "osD^vP*Xph<>"
_PLACES = (
    METRO,
    FLAT_PAPER,
    FLAT_BEST,
    *(name for name in ORDER[2:] if "(" not in name),
)
"""A method looks the same in every plot."""


def draw_curves(cells: Sequence[ConfigResult]) -> bytes:
    """Return success within T of each method's best cell, with Wilson's bands."""
    task = cells[0].task
    figure, axes = _axes(_title(cells))
    for label, some in methods_of(cells).items():
        lines = lines_of(label, some)
        if lines:
            _curve(axes, longest(lines), _look(label))
    for budget, name in zip(
        budgets_of(task.goal_distance), ("2 d", "4 d"), strict=True
    ):
        if budget <= axes.get_xlim()[1]:
            axes.axvline(budget, color="#999999", linestyle=":", linewidth=1)
            axes.annotate(
                name,
                (budget, 1.01),
                xycoords=("data", "axes fraction"),
                ha="center",
                fontsize=8,
                color="#666666",
            )
    axes.set(xlabel="T, environment steps", ylabel="success within T, %")
    axes.set(xlim=(0, None), ylim=(-3, 103))
    return _png(figure, axes)


def draw_fronts(cells: Sequence[ConfigResult]) -> bytes:
    """Return success against seconds of planning: the (h, H, T) fronts of planners."""
    figure, axes = _axes(_title(cells))
    for label, some in methods_of(cells).items():
        points = [] if label in WITHOUT_PLANS else front(some)
        seconds = [point.seconds for point in points]
        success = [100 * point.success for point in points]
        if points:
            axes.plot(
                seconds,
                success,
                marker=_MARKS[_place(label)],
                label=label,
                **_look(label),
            )
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set(xlabel="planning, seconds an episode", ylabel="success, %")
    axes.set(ylim=(-3, 103))
    return _png(figure, axes)


def _place(label: str) -> int:
    """Return the number of a method; its options share it."""
    name = label if label in _PLACES else label.partition(" (")[0]
    return _PLACES.index(name) if name in _PLACES else len(_PLACES) - 1


def _look(label: str) -> dict[str, str]:
    """Return a method's colour; a dashed line for its options."""
    dashed = "(" in label and label not in _PLACES
    return {
        "color": COLOURS[_place(label)],
        "linestyle": "dashed" if dashed else "solid",
    }


def _curve(axes: Any, line: MethodResult, look: dict[str, str]) -> None:
    cell = line.cell
    curve = cell.curve[: line.step_budget + 1]
    bands = [wilson(round(rate * line.num_runs), line.num_runs) for rate in curve]
    low, high = np.array(bands).T
    name = cell.name.replace(cell.method, line.label, 1)
    label = f"{name}, n = {line.num_runs}"
    steps = np.arange(len(curve))
    axes.plot(steps, 100 * curve, label=label, **look)
    band = axes.fill_between(steps, 100 * low, 100 * high, alpha=0.12, lw=0)
    band.set_facecolor(look["color"])


def _title(cells: Sequence[ConfigResult]) -> str:
    task = cells[0].task
    return f"{task.model}, d = {task.goal_distance}, {task.recordings}"


def _axes(title: str) -> tuple[Any, Any]:
    figure, axes = pyplot().subplots(figsize=(7.2, 4.2), layout="constrained")
    axes.set_title(title, fontsize=10, pad=18)
    axes.grid(visible=True, alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _png(figure: Any, axes: Any) -> bytes:
    """Return the figure, its legend beside the axes so that it hides nothing."""
    if axes.get_legend_handles_labels()[0]:
        axes.legend(
            loc="upper left", bbox_to_anchor=(1.01, 1), frameon=False, fontsize=8
        )
    return to_png(figure)


def to_png(figure: Any) -> bytes:
    """Return a figure as a file's bytes, and close it."""
    file = BytesIO()
    # Without the version of matplotlib the same rows give the same bytes.
    figure.savefig(file, format="png", dpi=150, metadata={"Software": None})
    pyplot().close(figure)
    return file.getvalue()


def pyplot() -> Any:
    """Return matplotlib's pyplot, drawing to memory; it is imported only here."""
    try:
        import_module("matplotlib").use("agg")
    except ImportError:
        raise MissingExtra(
            'A report\'s plots need matplotlib: pip install "metro-wm[plots]"'
        ) from None
    return import_module("matplotlib.pyplot")
