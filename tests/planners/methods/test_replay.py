"""Recorded actions are replayed whatever they lead to."""

import numpy as np

from metro.planners.methods.replay import ReplayPlanner


def test_scripts_are_replayed_then_it_stays():
    """Recorded actions one plan after another, zeros when they are used up."""
    script = np.arange(1, 8, dtype=np.float32)[:, None]
    planner = ReplayPlanner([script, script[:0]], frames=5)
    first, second = (planner.plan(None, None, [0, 1])[:, :, 0] for _ in range(2))
    assert first.tolist() == [[1, 2, 3, 4, 5], [0] * 5]
    assert second.tolist() == [[6, 7, 0, 0, 0], [0] * 5]
