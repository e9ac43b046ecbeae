"""The section on corpus size, of made-up rows."""

from row_makers import runs

from metro.studies.corpus_size import show_corpus_size as corpus_size
from study_makers import refused, table_of


def part_rows(share, episodes, frames, **changed):
    told = {"share": share, "subset_seed": 0, "episodes_used": episodes}
    told["graph"] = f"g{share}"
    return [row | told | changed for row in runs({7: frames}, "metro")]


def test_corpus_size_section():
    """Large shares first, the paper's figure beside each."""
    rows = part_rows(1.0, 20, [90, None]) + part_rows(100.0, 2000, [50, 60])
    section = corpus_size.render(rows)
    assert section == corpus_size.render(rows[::-1])
    lines = table_of(section)
    assert [line["share"] for line in lines] == ["100 %", "1 %"]
    assert [line["success"] for line in lines] == ["100.00", "50.00"]
    assert [line["episodes"] for line in lines] == ["2,000", "20"]
    assert {line["paper"] for line in lines} == {"100.00 ± 0.00"}
    assert section.pictures["corpus-size.png"].startswith(b"\x89PNG")
    refused("This is not a row of the study corpus-size (KeyError: 'share')",
            corpus_size.render, runs({7: [50]}, "metro"))  # fmt: skip


def test_corpus_size_is_the_papers_only_at_its_distance():
    """d = 15 has no figure in the paper."""
    near = {"episode": 0, "start": 0, "goal": 15}
    lines = table_of(corpus_size.render(part_rows(1.0, 20, [9], query=near)))
    assert lines[0]["paper"] == "-"
