"""Saturation of latent gaps: laws of its samples, its rows and its section."""

import statistics

import numpy as np
from oracles import Corpus, gaps_across, gaps_inside
from typer.testing import CliRunner

from metro import save
from metro.cli import app
from metro.errors import LatentsError
from metro.evaluation.records import read_records
from metro.studies import saturation
from study_makers import MADE, refused, table_of


def test_saturation_is_that_of_all_pairs(made):
    """Median and quartiles of sampled gaps: those of every pair, looked at in turn."""
    told = saturation.describe(made, num_samples=20_000)
    points = {p["distance"]: p for p in saturation.measure(made, told)["curve"]}
    assert list(points) == list(range(1, 60))  # episodes have 60 frames
    twin = Corpus([made.z[made.rows_of(m)] for m in range(made.num_episodes)])
    across = statistics.median(gaps_across(twin, every=7))
    for distance in (1, 5, 20, 59):
        inside = statistics.quantiles(gaps_inside(twin, distance), n=4)
        got = [points[distance][part] for part in ("lower", "median", "upper")]
        np.testing.assert_allclose(got, np.array(inside) / across, rtol=0.06)


def test_saturation_rows_say_where_they_come_from(made, rooms, tmp_path):
    """Digests, settings and versions; latents of unknown origin are refused."""
    save(made, tmp_path / "rooms.latents")
    save(rooms, tmp_path / "unknown.latents")
    output = tmp_path / "studies" / "saturation.jsonl"
    command = ["saturation", str(tmp_path / "rooms.latents"), "-o", str(output)]
    command += ["--num-samples", "50"]
    first = CliRunner().invoke(app, command)
    assert first.exit_code == 0, first.output
    again = CliRunner().invoke(app, command)
    assert again.output == first.output
    (row,) = read_records(output)
    assert (row["benchmark"], row["latents"]) == ("tworoom", made.digest)
    assert (row["model"], row["corpus"]) == (MADE["model"], MADE["corpus"])
    assert row["setting"] == {"longest": 75, "num_samples": 50, "seed": 0}
    assert {"metro-wm", "commit"} <= row["versions"].keys()
    command[1] = str(tmp_path / "unknown.latents")
    failed = CliRunner().invoke(app, command)
    assert isinstance(failed.exception, LatentsError)
    assert len(read_records(output)) == 1


def test_saturation_section(made):
    """One line a row and the paper's points; the same rows, the same bytes."""
    rows = [
        saturation.measure(made, saturation.describe(made, num_samples=n))
        for n in (40, 50)
    ]
    rows[1]["model"] = {"name": "pldm-small-tworoom", "digest": "m2"}
    section, again = saturation.render(rows), saturation.render(rows[::-1])
    assert section == again
    assert section.pictures["saturation.png"].startswith(b"\x89PNG")
    lines = table_of(section)
    assert [line["model"].split("-")[0] for line in lines] == ["lewm", "pldm", "paper"]
    assert (lines[2]["d = 5"], lines[2]["d = 75"]) == ("0.29", "1.00")
    assert lines[0]["d = 75"] == "-"
    rows[1]["model"] = rows[0]["model"]
    refused("The study saturation has tworoom, lewm-sm", saturation.render, rows)
