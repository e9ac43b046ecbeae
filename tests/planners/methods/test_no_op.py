"""The no-op does nothing, for as long as it is asked."""

from types import SimpleNamespace

import numpy as np
import pytest

from metro.planners.methods.no_op import NO_OP
from metro.planners.methods.registry import find_method


@pytest.mark.parametrize("action_size", [1, 5])
def test_every_action_is_zero(action_size):
    """Plan after plan is zeros, in the shape of the benchmark's actions."""
    benchmark = SimpleNamespace(action_size=action_size)
    plan = SimpleNamespace(context=SimpleNamespace(benchmark=benchmark), frames=4)
    planner = NO_OP.make_micro_planner(plan, ["a", "b", "c"], [1, 2, 3])
    for queries in ([0, 1, 2], [2], [0, 2]):
        acted = planner.plan(None, None, queries)
        assert acted.dtype == np.float32
        np.testing.assert_array_equal(acted, np.zeros((len(queries), 4, action_size)))


def test_it_looks_at_nothing():
    """Its selector has no target, whatever it is shown."""
    target, kind = NO_OP.make_selector(None, None, 0)(np.float32([3, 4]), 7)
    assert (target.tolist(), kind) == ([0], "none")


def test_old_and_new_name_are_one_method():
    """Rows say "stay", people say "no-op", and both mean this."""
    assert find_method("no-op") is find_method("stay") is NO_OP
