"""Damaged arrays are named before a kernel reads them."""

import re

import numpy as np
import pytest

from metro.errors import GraphError, LatentsError
from metro.kernels.checks import check_bridges, require_finite


def bridges(**changes):
    """Return one bridge between the frames 0 and 2 of three, with changes."""
    arrays = {
        "offsets": np.array([0, 1, 1, 2]),
        "frame": np.array([2, 0], np.int32),
        "cost": np.array([1.5, 1.5]),
    }
    return (arrays | changes).values()


def test_sound_bridges_pass():
    """Every offset ascends, every frame exists, every cost is within [1, H]."""
    check_bridges(*bridges(), num_frames=3, most=2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"offsets": np.array([0, 2, 1, 2])}, "bridge_offsets falls after 1"),
        ({"offsets": np.array([0, 1, 2])}, "bridge_offsets must be [N + 1]"),
        ({"cost": np.array([1.5])}, "2 bridges have 1 costs"),
        ({"cost": np.ones((2, 1))}, "bridges must be 1-d arrays"),
        ({"frame": np.array([3, 0])}, "entry 0 of bridge_frame is 3"),
        ({"cost": np.array([1.5, np.nan])}, "entry 1 of bridge_cost is nan"),
        (
            {"offsets": np.array([0, 2, 2, 2])},
            "bridge_frame does not ascend after 0",
        ),
    ],
)
def test_damaged_bridges_are_named(changes, message):
    """The message says which array, where, and what to do."""
    whole = f"^The graph is damaged: {re.escape(message)}.*build it again\\.$"
    with pytest.raises(GraphError, match=whole):
        check_bridges(*bridges(**changes), num_frames=3, most=2)


def test_rows_must_be_finite():
    """The message counts the rows and names the first."""
    z = np.zeros((5, 2), np.float32)
    require_finite(z)
    z[3:, 1] = np.nan
    with pytest.raises(LatentsError, match=r"^2 of 5 latents .* the first in row 3\."):
        require_finite(z)
