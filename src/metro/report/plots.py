"""The plots of a report, as PNG bytes: success within T, success against seconds."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np

from metro.analysis.comparison import (
    FLAT,
    FLAT_BEST,
    FLAT_PAPER,
    METRO,
    longest,
    method_results,
    methods_of,
)
from metro.analysis.config_results import ConfigResult, MethodResult, pareto_front
from metro.analysis.statistics import wilson
from metro.analysis.task import Task
from metro.errors import MissingExtra
from metro.planners.methods.registry import method_names

# The first six are Okabe and Ito's, which colour-blind readers can separate.
COLOURS = (
    *("#0072b2", "#d55e00", "#e69f00", "#009e73", "#cc79a7", "#56b4e9"),
    *("#8c564b", "#7f7f7f", "#bcbd22", "#17becf", "#000000", "#9467bd", "#fb9a99"),
)
_MARKS = "osD^vP*Xph<>8"
_STYLES = ("solid", "dashed", "dotted", "dashdot")
_PLACES = (
    *(METRO, FLAT_PAPER, FLAT_BEST),
    *(name for name in method_names() if name not in (METRO, FLAT)),
)
"""A method has the same colour and mark in every plot."""


def draw_opening(tasks: Mapping[Task, Sequence[ConfigResult]]) -> bytes:
    """Return success against seconds of planning: a row per world, a column per d.

    One model family, the first by name. Where a world has several recordings, each has
    its own line style. Only distances that every world has, if there are any.
    """
    # Two families in one panel would double every line.
    family = min(task.family for task in tasks)
    shown = {task: some for task, some in tasks.items() if task.family == family}
    worlds = list(dict.fromkeys(task.benchmark for task in shown))
    each = [{t.goal_distance for t in shown if t.benchmark == name} for name in worlds]
    distances = sorted(set.intersection(*each) or set.union(*each))
    figure, axes = pyplot().subplots(
        len(worlds),
        len(distances),
        figsize=(max(6, 0.8 + 3.1 * len(distances)), max(4, 0.9 + 2.1 * len(worlds))),
        sharey=True,
        squeeze=False,
        layout="constrained",
    )
    handles: dict[str, Any] = {}
    for row, world in enumerate(worlds):
        recordings = sorted({task.corpus for task in shown if task.benchmark == world})
        for column, distance in enumerate(distances):
            panel = axes[row][column]
            _tidy(panel, f"{world}, d = {distance}")
            for task, some in shown.items():
                if (task.benchmark, task.goal_distance) == (world, distance):
                    style = _STYLES[recordings.index(task.corpus) % len(_STYLES)]
                    kept = [one for one in some if _is_in_opening(one)]
                    handles |= _draw_fronts(panel, kept, linestyle=style)
        _name_recordings(axes[row][0], recordings)
    # On the panels: matplotlib would draw a figure's own label through the legend.
    for panel in axes[-1]:
        panel.set_xlabel("planning, seconds per episode", fontsize=8)
    figure.supylabel("success, %", fontsize=9)
    # A narrow figure has no room for five names beside each other.
    columns = min(5, 1 + 2 * len(distances))
    place = {"loc": "outside lower center", "ncols": columns}
    figure.legend(handles.values(), handles, **place, frameon=False, fontsize=8)
    return to_png(figure)


def _is_in_opening(config: ConfigResult) -> bool:
    """Return whether a configuration is of metro, flat or a hierarchical planner.

    The paper's figure has no others; the oracle and ablations have tables.
    """
    shown = (METRO, FLAT, *method_names(needs_macro=True))
    return config.key.is_usual and config.key.name in shown


def _name_recordings(axes: Any, recordings: Sequence[str]) -> None:
    """Write which line style belongs to which recordings, if there are several."""
    if len(recordings) > 1:
        lines = [
            f"{style}: {Path(name).stem}"
            for style, name in zip(_STYLES, recordings, strict=False)
        ]
        axes.annotate(
            "\n".join(lines), (0.02, 0.02), xycoords="axes fraction", fontsize=6,
            color="#666666",
        )  # fmt: skip


def _draw_fronts(
    axes: Any, configs: Sequence[ConfigResult], **look: str
) -> dict[str, Any]:
    """Draw the Pareto front of every method that plans; return a handle by label."""
    handles = {}
    for label, some in methods_of(configs).items():
        # Methods that do not plan take no time, and a log axis has no zero.
        points = pareto_front(some) if some and some[0].plans else []
        if points:
            (handles[label],) = axes.plot(
                [point.seconds for point in points],
                [100 * point.success for point in points],
                marker=_MARKS[_place(label, some[0])],
                markersize=4,
                label=label,
                **(_look(label, some[0]) | look),
            )
    return handles


def _tidy(axes: Any, title: str) -> None:
    from matplotlib import ticker

    _frame(axes, title, fontsize=9)
    # Planning times of methods are factors apart.
    axes.set_xscale("log")
    # Plain numbers read faster than powers of ten, and a decade may hold one tick only.
    axes.xaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(ticker.NullFormatter())
    axes.tick_params(labelsize=7)


def draw_curves(configs: Sequence[ConfigResult]) -> bytes:
    """Return success within T of each method's best setting, with Wilson's bands."""
    figure, axes = _axes(configs)
    for label, some in methods_of(configs).items():
        results = method_results(label, some)
        if results:
            _curve(axes, longest(results), _look(label, some[0]))
    budgets = configs[0].task.usual_budgets
    for budget, name in zip(budgets, ("2 d", "4 d"), strict=True):
        if budget <= axes.get_xlim()[1]:
            axes.axvline(budget, color="#999999", linestyle=":", linewidth=1)
            axes.annotate(
                name, (budget, 1.01), xycoords=("data", "axes fraction"), ha="center",
                fontsize=8, color="#666666",
            )  # fmt: skip
    axes.set(xlabel="T, environment steps", ylabel="success within T, %")
    axes.set(xlim=(0, None))
    return _png(figure, axes)


def draw_fronts(configs: Sequence[ConfigResult]) -> bytes:
    """Return success against seconds of planning: the Pareto fronts over (h, H, T)."""
    figure, axes = _axes(configs)
    _draw_fronts(axes, configs)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set(xlabel="planning, seconds per episode", ylabel="success, %")
    return _png(figure, axes)


def _place(label: str, config: ConfigResult) -> int:
    """Return the number of a method; its options share it."""
    name = label if label in _PLACES else config.key.name
    # A method that this version does not know still needs a look.
    return _PLACES.index(name) if name in _PLACES else len(_PLACES) - 1


def _look(label: str, config: ConfigResult) -> dict[str, str]:
    """Return a method's colour; a dashed line where choices are unusual."""
    return {
        "color": COLOURS[_place(label, config)],
        "linestyle": "solid" if config.key.is_usual else "dashed",
    }


def _curve(axes: Any, result: MethodResult, look: dict[str, str]) -> None:
    config, count = result.config, result.num_runs
    curve = config.curve[: result.step_budget + 1]
    # Rates are counts over n: rounding gives the exact count back.
    bands = [wilson(round(rate * count), count) for rate in curve]
    low, high = np.array(bands).T
    parts = (result.label, config.setting_text, f"n = {count}")
    label = ", ".join(filter(None, parts))
    steps = np.arange(len(curve))
    axes.plot(steps, 100 * curve, label=label, **look)
    band = axes.fill_between(steps, 100 * low, 100 * high, alpha=0.12, lw=0)
    band.set_facecolor(look["color"])


def _axes(configs: Sequence[ConfigResult]) -> tuple[Any, Any]:
    figure, axes = pyplot().subplots(figsize=(7.2, 4.2), layout="constrained")
    task = configs[0].task
    title = f"{task.model}, d = {task.goal_distance}, {task.recordings}"
    _frame(axes, title, fontsize=10, pad=18)
    return figure, axes


def _frame(axes: Any, title: str, **look: int) -> None:
    axes.set_title(title, **look)
    axes.grid(visible=True, alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    # Wider than 0 to 100: markers at the ends would be cut in half.
    axes.set(ylim=(-3, 103))


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
    # pyplot keeps figures alive until they are closed.
    pyplot().close(figure)
    return file.getvalue()


def pyplot() -> Any:
    """Return matplotlib's pyplot, drawing to memory; it is imported only here."""
    try:
        # Without a display: reports are made on servers too.
        import_module("matplotlib").use("agg")
    except ImportError:
        raise MissingExtra(
            'A report\'s plots need matplotlib: pip install "metro-wm[plots]"'
        ) from None
    return import_module("matplotlib.pyplot")
