"""Random actions are the floor of every comparison."""

import numpy as np

from metro.planners.methods.random import RandomPlanner


def test_random_actions_belong_to_the_query():
    """In the range of the environments, the same whatever is planned beside them."""
    together, alone = (RandomPlanner(2, 5, seeds=[3, 4]) for _ in range(2))
    both = together.plan(None, None, [0, 1])
    np.testing.assert_array_equal(alone.plan(None, None, [1]), both[1:])
    assert np.abs(both).max() <= 1
    assert not np.array_equal(together.plan(None, None, [0, 1]), both)
