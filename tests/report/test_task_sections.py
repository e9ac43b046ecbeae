"""The sections of one task each."""

from row_makers import ROWS, runs

from metro.analysis.comparison import by_task
from metro.analysis.grouping import group_rows
from metro.report.overview import overview
from metro.report.task_sections import titles_of


def test_corpora_of_two_sizes_are_distinguished():
    """The same benchmark, model and distance, planned with more recordings."""
    corpus = {"name": "more.h5", "digest": "c2", "episodes": 18_685}
    asked = {"name": "more-d75.csv", "digest": "q2"}
    more = runs({7: [50, 80]}, "metro", corpus=corpus, queries=asked)
    tasks = by_task(group_rows([*ROWS, *more]))
    assert list(titles_of(by_task(group_rows(ROWS))).values()) == [
        "tworoom, lewm, d = 75"
    ]
    assert list(titles_of(tasks).values()) == [
        "tworoom, lewm, d = 75, more, 18,685 episodes",
        "tworoom, lewm, d = 75, tworoom, 2,000 episodes",
    ]
    assert [row[2] for row in overview(tasks, []).rows] == [
        "more, 18,685 episodes",
        "tworoom, 2,000 episodes",
    ]
