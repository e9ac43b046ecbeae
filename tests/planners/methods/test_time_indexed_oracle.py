"""The time-indexed oracle follows the query's own recording by the clock."""

import numpy as np

from metro.planners.methods.time_indexed_oracle import TimeIndexedSelector


def test_targets_go_by_the_clock():
    """Where the recording was one hop later, at last the goal."""
    own = np.arange(10, 31, dtype=np.float32)[:, None]
    selector = TimeIndexedSelector(own, hop=5)
    found = [selector(np.float32([0]), step) for step in (0, 5, 15, 90)]
    assert found == [
        (own[5], "own_frame"),
        (own[10], "own_frame"),
        (own[20], "goal"),
        (own[20], "goal"),
    ]
