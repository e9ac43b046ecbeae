"""The demo: everything real, twice the same, and pictures to look at."""

import numpy as np
from PIL import Image
from typer.testing import CliRunner

from metro.cli import app


def test_demo_records_plans_and_draws(tmp_path):
    """Graph, picture and film; the second time nothing is recorded again."""
    folder = tmp_path / "demo"
    command = ["demo", "-o", str(folder), "--episodes", "40", "--queries", "3"]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    line = next(line for line in shown.output.splitlines() if "metro, h = 1" in line)
    assert "3 of 3" in line
    assert "100%" in line
    picture = np.asarray(Image.open(folder / "tworoom.png"))
    assert picture.shape[2] == 4
    assert picture[..., :3].std() > 10
    with Image.open(folder / "tworoom.gif") as film:
        assert film.n_frames > 10
    made = (folder / "tworoom-40-0.h5").stat().st_mtime_ns
    again = CliRunner().invoke(app, command)
    assert again.output == shown.output
    assert (folder / "tworoom-40-0.h5").stat().st_mtime_ns == made


def test_the_other_worlds_have_a_storyboard(tmp_path):
    """The same for a world without a map: moments of each planner beside the goal."""
    folder = tmp_path / "demo"
    command = ["demo", "--benchmark", "reacher", "-o", str(folder), "--queries", "2"]
    shown = CliRunner().invoke(app, [*command, "--episodes", "6"])
    assert shown.exit_code == 0, shown.output
    with Image.open(folder / "reacher.png") as picture:
        assert picture.size == (9 * 100, 2 * 122)
    with Image.open(folder / "reacher.gif") as film:
        assert film.n_frames > 5


def test_a_demo_that_is_not_there(tmp_path):
    """Which there are."""
    wrong = ["demo", "--benchmark", "chess", "-o", str(tmp_path)]
    told = CliRunner().invoke(app, wrong)
    assert str(told.exception) == (
        "There is no demo of 'chess'. There are cube, pusht, reacher, tworoom."
    )
