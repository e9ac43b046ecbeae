"""The demo: everything real, twice the same, and pictures to look at."""

import numpy as np
from PIL import Image
from typer.testing import CliRunner

from metro.cli import app


def test_demo_records_plans_and_draws(tmp_path):
    """Graph, picture and film; the second time nothing is recorded again."""
    folder = tmp_path / "demo"
    command = ["demo", "-o", str(folder), "--episodes", "40"]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    assert "metro, h = 1: at the goal after" in shown.output
    picture = np.asarray(Image.open(folder / "tworoom.png"))
    assert picture.shape[2] == 4
    assert picture[..., :3].std() > 10
    with Image.open(folder / "tworoom.gif") as film:
        assert film.n_frames > 10
    made = (folder / "tworoom-40-0.h5").stat().st_mtime_ns
    again = CliRunner().invoke(app, command)
    assert again.output == shown.output
    assert (folder / "tworoom-40-0.h5").stat().st_mtime_ns == made
