"""The paper's numbers as data."""

import pytest

from metro.analysis.paper import load_paper_results, paper_table, read_paper_results
from metro.benchmark import benchmark_names, load_benchmark
from metro.errors import BenchmarkError


def test_the_papers_results():
    """Figures, the listed cells and LeWM's own; each once; no benchmark is added."""
    cells = load_paper_results()
    assert len(cells) == len(set(cells))
    assert {cell.benchmark for cell in cells} == set(benchmark_names())
    assert "paper" not in benchmark_names()
    by_place = {(c.benchmark, c.family, c.method, c.goal_distance, c.step_budget): c
                for c in cells}  # fmt: skip
    found = by_place["pusht", "lewm", "metro", 75, 300]
    assert (found.plan_blocks, found.waypoint_budget) == (5, 28)
    assert (found.mean, found.std, found.arrival_ratio) == (62.67, 4.62, 2.71)
    assert by_place["tworoom", "pldm", "committed", 75, 150].mean == 61.33
    assert by_place["pusht", "lewm", "flat", 75, 150].mean == 14
    assert by_place["cube", "lewm", "flat", 25, 50].mean == 74


@pytest.mark.parametrize("name", benchmark_names())
@pytest.mark.parametrize("family", ["lewm", "pldm"])
def test_every_listed_setting_is_there_once(name, family):
    """And those with a figure are the last of their front."""
    listed = load_benchmark(name).paper["cells"][family]
    found = [
        (str(c.goal_distance), (c.plan_blocks, c.waypoint_budget, c.step_budget))
        for c in load_paper_results()
        if (c.benchmark, c.family, c.method) == (name, family, "metro")
    ]
    wanted = [(d, cell) for d, cells in listed.items() for cell in cells]
    assert sorted(found) == sorted(wanted)
    told = [c for c in load_paper_results() if c.method == "metro" and c.arrival_ratio]
    places = {(c.benchmark, c.family, c.step_budget) for c in told}
    assert (name, family, listed["75"][-1][2]) in places


def test_a_bad_paper_file(tmp_path):
    """A file that cannot be read is refused, with what a result has."""
    (tmp_path / "p.toml").write_text("cells = [{ context = 1 }]")
    with pytest.raises(BenchmarkError, match=r"A result has benchmark, family,"):
        read_paper_results(tmp_path / "p.toml")


def test_a_table_that_is_not_in_the_paper_is_refused():
    """The error names the table that was asked for."""
    with pytest.raises(BenchmarkError, match=r"cannot be read: 'no such table'\.$"):
        paper_table("no such table")
