"""The cheapest candidates, at most one of each episode, against a loop."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metro.kernels.neighbours.cheapest import cheapest_per_episode


def keep_slowly(cost, episodes, frames, count):
    """Return which candidates of one row a reader of D37 would keep."""
    kept, seen = [False] * len(cost), set()
    for place in sorted(range(len(cost)), key=lambda i: (cost[i], frames[i])):
        if (
            np.isfinite(cost[place])
            and episodes[place] not in seen
            and len(seen) < count
        ):
            seen.add(episodes[place])
            kept[place] = True
    return kept


@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 9), st.integers(1, 5))
def test_the_cheapest_of_each_episode_are_kept(seed, rows, width, count):
    """Ties go to the lower frame; what costs inf is never kept."""
    rng = np.random.default_rng(seed)
    cost = rng.integers(1, 5, (rows, width)).astype(float)
    cost[rng.random((rows, width)) < 0.2] = np.inf
    episodes = rng.integers(0, 4, (rows, width))
    frames = np.stack([rng.permutation(width) for _ in range(rows)])
    expected = list(map(keep_slowly, cost, episodes, frames, [count] * rows))
    assert cheapest_per_episode(cost, episodes, frames, count).tolist() == expected


def test_wide_rows_take_no_longer_than_sorting_them():
    """A table of 20,000 neighbours: comparing all pairs would take minutes."""
    frames = np.arange(40_000).reshape(2, 20_000)
    cost = np.ones(frames.shape)
    kept = cheapest_per_episode(cost, frames % 7, frames, 5)
    assert [np.flatnonzero(row).tolist() for row in kept] == [[0, 1, 2, 3, 4]] * 2
