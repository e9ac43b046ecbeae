"""A tiny benchmark run: its rows, its files, and peers that are not there."""

import json
import sys

import pytest

from metro.core.neighbours import SMALL
from metro.errors import GraphError, MissingExtra
from perf import KINDS, plot_scaling, render, run_bench
from perf.measuring import FIELDS, try_peer
from perf.scaling import exponent, sizes_up_to

FRAMES = 9_000


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Run every kind with those peers that start quickly, the others hidden."""
    told = []
    output = tmp_path_factory.mktemp("bench") / "deeper" / "run"
    with pytest.MonkeyPatch.context() as patch:
        for name in ("pynndescent", "networkit", "hnswlib"):
            patch.setitem(sys.modules, name, None)
        rows = run_bench(KINDS, FRAMES, output=output, progress=told.append)
    return rows, output, told


def of(rows, kind, method):
    return next(row for row in rows if (row["kind"], row["method"]) == (kind, method))


def test_rows_have_all_fields(run):
    rows, _, told = run
    assert {row["kind"] for row in rows} == set(KINDS)
    assert all(set(FIELDS) <= set(row) for row in rows)
    assert "our table" in told


def test_ours_is_exact_and_the_unit(run):
    rows, _, _ = run
    table, entry = of(rows, "table", "metro"), of(rows, "entry", "metro")
    assert table["exact"] is True
    assert table["checked"] >= 512
    assert table["ratio"] == entry["ratio"] == 1
    assert entry["exact"] is True
    assert of(rows, "search", "metro")["seconds"] > 0


def test_products_find_the_same_neighbours(run):
    row = of(run[0], "table", "sgemm + select")
    assert row["recall"] > 0.999
    assert row["ratio"] == pytest.approx(
        row["seconds"] / of(run[0], "table", "metro")["seconds"]
    )


def test_scipy_agrees_on_every_cost_to_go(run):
    row = of(run[0], "search", "scipy dijkstra + predecessors")
    assert row["exact"] is True
    assert row["largest_difference"] <= 1e-9


def test_every_installed_peer_is_measured(run):
    for row in run[0]:
        assert not row["note"].startswith("failed"), row
        if row["kind"] == "search" and row["seconds"]:
            assert row["exact"] is not False, row


def test_a_missing_peer_is_a_row(run):
    rows, _, _ = run
    assert of(rows, "table", "hnswlib")["note"] == "not installed: hnswlib"
    assert of(rows, "search", "networkit Dijkstra")["seconds"] is None


def test_a_peer_that_breaks_is_a_row():
    def broken(module):
        raise RuntimeError("out of luck\nand more")

    row = try_peer("json", lambda note: {"note": note}, broken)
    assert row == {"note": "failed: RuntimeError: out of luck"}


def test_the_report_can_be_read_again(run):
    rows, output, _ = run
    report = json.loads(output.with_name("run.json").read_text())
    assert report["rows"] == json.loads(json.dumps(rows))
    assert report["machine"]["cores"] >= 1
    assert {"numpy", "numba"} <= set(report["versions"])
    assert report["settings"]["num_frames"] == FRAMES
    assert report["command"] == (
        f"metro bench table search entry scaling --num-frames {FRAMES} --state-dim 5 "
        "--noise 0.0 --seed 0 --threads 1 -o run"
    )
    assert output.with_name("run.md").read_text() == render(rows)


def test_markdown_has_a_line_a_row(run):
    lines = render(run[0]).splitlines()
    assert len(lines) == len(run[0]) + 2
    assert len({line.count("|") for line in lines}) == 1
    assert "not installed: hnswlib" in render(run[0])


def test_isotropic_noise_is_exact_too():
    rows = run_bench(["entry"], FRAMES, "noise")
    assert of(rows, "entry", "metro")["exact"] is True


def test_the_exponent_is_the_slope():
    rows = [{"method": "a", "num_frames": n, "seconds": n**1.5} for n in (10, 20, 80)]
    assert exponent(rows, "a") == pytest.approx(1.5)
    assert exponent(rows[:1], "a") is None
    assert sizes_up_to(80_000)[0] == 10_000


def test_scaling_is_drawn(run, tmp_path):
    pytest.importorskip("matplotlib")
    plot_scaling(run[0], tmp_path / "scaling.png")
    assert (tmp_path / "scaling.png").stat().st_size > 0


def test_a_plot_without_matplotlib_names_the_extra(run, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtra, match=r"pip install 'metro-wm\[bench\]'"):
        plot_scaling(run[0], tmp_path / "scaling.png")


def test_wrong_settings_are_named():
    with pytest.raises(GraphError, match="kinds must be among table, .* got 'speed'"):
        run_bench(["speed"])
    with pytest.raises(GraphError, match=f"at least {SMALL}, got 100"):
        run_bench(["table"], 100)


def test_recorded_latents(tmp_path):
    """Real latents instead of synthetic ones: whole episodes, and it is told."""
    from metro import save
    from perf import run_bench
    from perf.synthetic import make_latents

    save(make_latents(6_000, state_dim=2, dim=16), tmp_path / "real.latents")
    rows = run_bench(
        ["search"], 4_000, output=tmp_path / "b", latents=tmp_path / "real.latents"
    )
    assert rows[0]["data"] == "recorded, real.latents"
    assert 4_000 <= rows[0]["num_frames"] < 6_000
    report = json.loads((tmp_path / "b.json").read_text())
    assert report["settings"]["latents"] == "real.latents"
    assert report["command"] == (
        "metro bench search --num-frames 4000 --latents real.latents --seed 0 "
        "--threads 1 -o b"
    )
