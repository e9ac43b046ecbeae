"""Measuring a whole table of neighbours."""

import numpy as np
import pytest

from metro import find_neighbours
from metro.core.latents import Latents
from metro.data.reach_table import measure_table
from metro.storage.parts import Parts


def sideways(origins, targets):
    """A toy reach: only the first coordinate can be changed."""
    across = np.abs(targets[..., 1:] - origins[:, None, 1:]).sum(axis=-1)
    return across.astype(np.float64)


def walks(seed=0, episodes=12, length=30):
    z = np.random.default_rng(seed).normal(size=(episodes * length, 3)).cumsum(axis=0)
    return Latents(z.astype(np.float32), np.arange(0, len(z) + 1, length))


def test_measuring_resumes_and_does_not_depend_on_threads(tmp_path):
    """Finished rows are kept; any number of threads gives the same table."""
    latents = walks()
    table = find_neighbours(latents, 16)
    whole, calls = measure_table(latents, table.frame, sideways), []

    def dying(origins, targets):
        calls.append(len(origins))
        if len(calls) == 2:
            raise KeyboardInterrupt
        return sideways(origins, targets)

    with pytest.raises(KeyboardInterrupt):
        measure_table(latents, table.frame, dying, checkpoint=Parts(tmp_path, "x"))
    counted = []

    def counting(origins, targets):
        counted.append(len(origins))
        return sideways(origins, targets)

    again = measure_table(
        latents, table.frame, counting, workers=2, checkpoint=Parts(tmp_path, "x")
    )
    assert sum(counted) < latents.num_frames
    assert np.array_equal(again, whole)
