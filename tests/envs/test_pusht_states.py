"""States of PushT: agent, block and walls leave each other."""

import numpy as np

from metro.envs.pusht_states import leave_each_other


def test_pusht_agent_is_moved_out_of_the_block():
    """From the middle of the bar, of the stem, and from where both meet."""
    block = np.array([256.0, 256.0, 0.7])
    cosine, sine = np.cos(0.7), np.sin(0.7)
    for x, y in ((0, 15), (0, 80), (0, 31), (14, 32), (40, 5)):
        turned = np.array([x * cosine - y * sine, x * sine + y * cosine])
        agent = block[:2] + turned
        state = np.concatenate([agent, block])[None]
        moved, possible = leave_each_other(state)
        assert possible[0]
        assert 1 < np.linalg.norm(moved[0, :2] - agent) < 60
        assert np.array_equal(moved[0, 2:], block)
        again, _ = leave_each_other(moved)
        assert np.allclose(again, moved)


def test_pusht_block_is_moved_out_of_the_walls():
    """A block in a corner lies between the walls afterwards."""
    moved, possible = leave_each_other(np.array([[400.0, 400.0, 0.0, 0.0, 0.0]]))
    assert possible[0]
    assert moved[0, 2:4].tolist() == [65.0, 5.0]
