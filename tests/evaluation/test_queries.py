"""Queries: drawn, written and read."""

import os
import re

import pytest

from metro.errors import BenchmarkError
from metro.evaluation.queries import Query, load_queries, sample_queries, save_queries
from metro.evaluation.records import Setting


def test_queries_cover_every_row_once():
    """As many as rows with a goal: each exactly once, in order."""
    found = sample_queries([3, 9, 6], goal_distance=4, count=7, seed=0)
    starts = [(1, step) for step in range(5)] + [(2, step) for step in range(2)]
    assert [(q.episode, q.start) for q in found] == starts
    assert {q.goal_distance for q in found} == {4}


def test_queries_by_seed():
    """The same seed, the same queries; another, others."""
    first, again, other = (
        sample_queries([101] * 50, goal_distance=25, count=50, seed=seed)
        for seed in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_queries_survive_a_file(tmp_path):
    """CSV, one line a query."""
    queries = [Query(3, 0, 25), Query(7, 12, 37)]
    save_queries(queries, tmp_path / "q.csv")
    assert (tmp_path / "q.csv").read_text() == "episode,start,goal\n3,0,25\n7,12,37\n"
    found = load_queries(tmp_path / "q.csv")
    assert list(found) == queries
    assert (found.name, found.corpus) == ("q.csv", None)


def test_what_is_known_of_queries_survives(tmp_path):
    """Corpus, solved starts and the recording's own time go with them."""
    queries = [Query(3, 0, 25, True, 20), Query(7, 12, 37, False, None)]
    save_queries(queries, tmp_path / "q.csv", corpus="abc")
    found = load_queries(tmp_path / "q.csv")
    assert [vars(query) for query in found] == [vars(query) for query in queries]
    assert found.corpus == "abc"
    found.require_corpus("abc")
    told = (
        "q.csv has queries of corpus abc, this one is 0123456789ab. Record that corpus "
        "again (docs/results.md has the command), or sample queries of this one: "
        "metro queries."
    )
    with pytest.raises(BenchmarkError, match=f"^{re.escape(told)}$"):
        found.require_corpus("0123456789abcdef")


def test_too_few_rows():
    """How many there are, and what to do."""
    told = (
        "The corpus has 2 starts with a goal 4 frames later, fewer than 3 queries. "
        "Its longest episode has 6 frames: record longer ones, or choose nearer goals."
    )
    with pytest.raises(BenchmarkError, match=f"^{re.escape(told)}$"):
        sample_queries([6], goal_distance=4, count=3, seed=0)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "must start with the line episode,start,goal, got nothing."),
        ("a,b\n", "must start with the line episode,start,goal, got a,b."),
        (
            "episode,start,goal\n1,2\n",
            "must be whole numbers: episode,start,goal.",
        ),
    ],
)
def test_bad_query_files(tmp_path, text, told):
    """What is expected."""
    (tmp_path / "q.csv").write_text(text)
    with pytest.raises(BenchmarkError, match=re.escape(told)):
        load_queries(tmp_path / "q.csv")


def test_the_first_queries_keep_the_name_of_their_file(tmp_path):
    path = tmp_path / "some.csv"
    save_queries([Query(0, 1, 5), Query(1, 2, 6), Query(4, 0, 4)], path)
    found = load_queries(path)
    some = found.first(2)
    assert list(some) == list(found)[:2]
    assert (some.name, some.digest) == (found.name, found.digest)
    for count in (0, 4):
        with pytest.raises(BenchmarkError, match=r"has 3 queries"):
            found.first(count)


def test_queries_that_are_none(tmp_path):
    """A file of something else, and one without a query."""
    path = tmp_path / "q.csv"
    path.write_bytes(b"\x89HDF\r\n\x1a\n\x00\r\x00" * 9)
    with pytest.raises(BenchmarkError, match="q.csv must start with the line episode"):
        load_queries(path)
    path.write_text("episode,start,goal\n")
    with pytest.raises(BenchmarkError, match="q.csv has no queries. Sample some"):
        load_queries(path)


def test_negative_seeds_are_refused():
    with pytest.raises(BenchmarkError, match="^planner_seed must be 0 or more, got -1"):
        Setting("flat", 1, None, 50, -1)
    with pytest.raises(BenchmarkError, match="^seed must be 0 or more, got -1"):
        sample_queries([50], goal_distance=5, count=1, seed=-1)


def test_a_pipe_is_refused_and_a_long_line_is_not_quoted_whole(tmp_path):
    """An answer comes at once, in one short line."""
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(BenchmarkError, match="is a pipe"):
        load_queries(tmp_path / "pipe.csv")
    (tmp_path / "long.csv").write_text("[" * 100_000)
    with pytest.raises(BenchmarkError) as error:
        load_queries(tmp_path / "long.csv")
    assert len(str(error.value)) < 600
