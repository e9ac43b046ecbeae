"""The oracle takes its sub-goals from the query's own recording."""

import numpy as np

from metro.planners.methods.oracle import OracleSelector


def test_the_oracle_finds_itself_and_looks_one_hop_ahead():
    """From the most alike frame of its own recording, wherever the clock is."""
    own = np.arange(10, 31, dtype=np.float32)[:, None]
    selector = OracleSelector(own, hop=5)
    assert selector(np.float32([12.2]), 0) == (own[7], "own_frame")
    assert selector(np.float32([29]), 5) == (
        own[7],
        "own_frame",
    )  # the second micro plan
    assert selector(np.float32([29]), 10) == (own[20], "goal")
