"""Queries know what their environment says about the recording."""

import numpy as np

from metro.evaluation.queries import (
    load_queries,
)


def test_queries_know_their_world(context, queries, query_file):
    """Which starts are solved, and how soon the recording itself meets the goal."""
    found = load_queries(query_file)
    assert list(found) == queries
    assert found.corpus == context.corpus.digest
    for query in found:
        assert query.is_presolved in (True, False)
        assert 1 <= query.demonstration_frames <= 15
    places = context.corpus.column("proprio")
    for query in found:
        first = int(context.corpus.offsets[query.episode])
        way = places[first + query.start : first + query.goal + 1]
        near = np.linalg.norm(way - way[-1], axis=1) < 16
        assert query.is_presolved == near[0]
        assert query.demonstration_frames == 1 + np.argmax(near[1:])
