"""The neighbour table on data that makes fast methods stumble."""

import re

import numpy as np
import oracles
import pytest

import metro
from metro.core.neighbours import NO_EPISODE, BruteForceIndex, NeighbourTable
from metro.errors import GraphError


def table_of(z, lengths, num_neighbours=4):
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return metro.find_neighbours(metro.Latents(z, offsets), num_neighbours)


def expected(z, lengths, num_neighbours=4):
    episodes = np.split(np.asarray(z, dtype=np.float32), np.cumsum(lengths)[:-1])
    corpus = oracles.Corpus([episode.tolist() for episode in episodes])
    return [
        [v for _, v in oracles.nearest(corpus, row, num_neighbours, corpus.episode[u])]
        for u, row in enumerate(corpus.z)
    ]


def hard_cases():
    rng = np.random.default_rng(0)
    cluster = rng.normal(size=(60, 8))
    outlier = np.concatenate([1e-4 * cluster, [[1e6] * 8]])
    return {
        "isotropic noise": cluster,
        "all alike": np.ones((60, 8)),
        "duplicates": np.repeat(cluster[:6], 10, axis=0),
        "one far outlier": outlier[1:],
        "far from the origin": 1e4 + 1e-2 * cluster,
        "tiny": 1e-30 * cluster,
        "huge": 1e30 * cluster,
        "one dimension": cluster[:, :1],
        "lattice": np.round(2 * cluster),
    }


@pytest.mark.parametrize("name", hard_cases())
def test_exact_where_float32_is_not(name):
    """Rounding, ties, scale and outliers change nothing in the answer."""
    z = hard_cases()[name]
    lengths = [20, 1, 19, 20]
    assert table_of(z, lengths).frame.tolist() == expected(z, lengths)


def test_ties_take_the_lower_frame():
    """Of frames at the same gap the lower number comes first."""
    table = table_of([[0.0], [1.0], [-1.0], [1.0]], [1, 3], num_neighbours=2)
    assert table.frame[0].tolist() == [1, 2]


def test_more_neighbours_than_frames():
    """Missing neighbours are -1 at an infinite gap."""
    table = table_of(np.zeros((3, 2)), [1, 2], num_neighbours=5)
    assert table.frame.tolist() == [[1, 2, -1, -1, -1], [0, *[-1] * 4], [0, *[-1] * 4]]
    assert table.gap[0].tolist() == [0, 0, np.inf, np.inf, np.inf]


def test_one_episode_has_no_neighbours():
    """Neighbours are of other episodes only."""
    table = table_of(np.zeros((3, 2)), [3])
    assert (table.frame == -1).all()
    assert (table.gap == np.inf).all()


def test_queries_far_beyond_the_corpus():
    """A goal whose square overflows float32 still finds its nearest frames."""
    latents = metro.Latents([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]], [0, 3])
    index = BruteForceIndex(latents)
    queries = np.array([[1e25, 0.0], [0.9, 0.0]])
    frame, gap = index.nearest(queries, 2, np.full(2, NO_EPISODE))
    assert frame.tolist() == [[0, 1], [1, 0]]  # equal gaps: the lower frame
    assert gap[0].tolist() == [1e25, 1e25]


def test_progress_reaches_the_total(rooms):
    """The bar ends at the number of frames."""
    seen = []
    metro.find_neighbours(rooms, progress=lambda *now: seen.append(now))
    assert seen[-1] == (rooms.num_frames, rooms.num_frames)
    assert seen == sorted(seen)


@pytest.mark.parametrize("count", [0, -3, 1.5, None])
def test_at_least_one_neighbour(count, rooms):
    """k is a whole number of at least 1."""
    message = f"num_neighbours must be a whole number of at least 1, got {count!r}."
    with pytest.raises(GraphError, match=f"^{re.escape(message)}$"):
        metro.find_neighbours(rooms, count)


@pytest.mark.parametrize(
    ("frame", "gap", "message"),
    [
        ([[2]], [[1.0]], "entry 0 of neighbour_frame is 2, not within .-1, 0."),
        ([[-2]], [[1.0]], "entry 0 of neighbour_frame is -2, not within"),
        ([[0]], [[np.nan]], "entry 0 of neighbour_gap is nan, not within"),
    ],
)
def test_a_table_names_frames_that_exist(frame, gap, message):
    """Also one from a file that nobody builds a graph from."""
    with pytest.raises(GraphError, match=message):
        NeighbourTable(np.array(frame, np.int32), np.array(gap), "digest")
