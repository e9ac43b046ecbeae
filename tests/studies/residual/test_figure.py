"""The figure of nearest states: what cannot be drawn is refused."""

import pytest

from metro.errors import BenchmarkError, WorldError
from metro.studies.residual.figure import draw_pictures
from metro.studies.residual.targets import TargetConfig

RANDOM = TargetConfig("random", 1)


def test_pictures_of_nothing_are_refused(evaluated, tmp_path):
    """Every search failed: there is no state."""
    rows = [{"residual": None, "budget": "small"}]
    with pytest.raises(BenchmarkError, match="^No row has a state to draw: every"):
        draw_pictures(rows, evaluated, RANDOM, tmp_path / "a.png")


def test_states_outside_the_limits_are_refused(evaluated, tmp_path):
    """A row that was changed by hand, or is of another environment, is not drawn."""
    row = {"residual": 1.0, "budget": "small", "own_frame": 0, "state": [999.0, 50.0]}
    with pytest.raises(WorldError, match=r"^agent x must be [\d.]+ to [\d.]+, got 999"):
        draw_pictures([row], evaluated, RANDOM, tmp_path / "a.png")
