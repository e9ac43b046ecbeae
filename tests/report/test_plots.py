"""The plots of a report."""

import re
import sys

import pytest
from row_makers import ROWS, hierarchical, only

from metro.analysis.comparison import by_task
from metro.analysis.grouping import group_rows
from metro.errors import MissingExtra
from metro.report.build import results_markdown, write_report
from metro.report.inputs import ReportInputs


def test_a_method_looks_the_same_in_every_plot():
    """Every method has a colour of its own; its options share it, in dashes."""
    pytest.importorskip("matplotlib")
    from metro.report.plots import _PLACES, COLOURS, _look

    usual, boxed = (only(hierarchical(macro_steps=1, option=o)) for o in (None, "box"))
    looks = [_look(name, usual)["color"] for name in _PLACES]
    assert len(set(looks)) == len(_PLACES) <= len(COLOURS)
    assert _look(usual.method, usual)["linestyle"] == "solid"
    dashed = {"color": _look(usual.method, usual)["color"], "linestyle": "dashed"}
    assert _look(boxed.method, boxed) == dashed


def test_the_opening_has_a_panel_per_world_and_distance(monkeypatch):
    """Worlds below each other, the distances that all of them have side by side."""
    plots = pytest.importorskip("metro.report.plots")
    pytest.importorskip("matplotlib")
    near = [one | {"query": one["query"] | {"goal": 30}} for one in ROWS]
    other = [one | {"benchmark": "cube"} for one in ROWS]
    shapes = []
    monkeypatch.setattr(
        plots, "to_png", lambda figure: shapes.append(len(figure.axes)) or b""
    )
    plots.draw_opening(by_task(group_rows(ROWS + near)))
    plots.draw_opening(by_task(group_rows(ROWS + near + other)))
    assert shapes == [2, 2]


def test_plots_need_an_extra(tmp_path, monkeypatch):
    """Which one; nothing is written without it, and Markdown needs none."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    told = 'A report\'s plots need matplotlib: pip install "metro-wm[plots]"'
    with pytest.raises(MissingExtra, match=f"^{re.escape(told)}$"):
        write_report(ReportInputs(ROWS), tmp_path / "report")
    assert not (tmp_path / "report").exists()
    assert results_markdown(ReportInputs(ROWS))
