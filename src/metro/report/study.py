"""What every study has: a question, rows, the command that writes them, a section."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from metro.evaluation.records import (
    Record,
    find_record_files,
    read_records,
    record_name,
)
from metro.report.document import Block


@dataclass(frozen=True)
class Section:
    """A study's part of the report."""

    blocks: tuple[Block, ...]
    pictures: Mapping[str, bytes] = field(default_factory=dict)
    """The bytes of every picture among the blocks, by name."""


@dataclass(frozen=True)
class Study:
    """One analysis of the paper.

    Its rows are in ``studies/NAME.jsonl`` beside the evaluation's, or are the
    evaluation's own.
    """

    name: str
    title: str
    question: str
    """What it answers, in a sentence; the report shows it also if nothing was run."""
    command: str
    """What a user types to run it."""
    render: Callable[[Sequence[Record]], Section]
    """From rows (one at least, in any order) to a section; same rows, same bytes."""
    reads_evaluation: bool = False
    """Whether its rows are those of ``metro evaluate``, of all benchmarks."""


def files_of(study: Study, results: Path) -> list[Path]:
    """Return the files in a folder of results that a study's rows are in."""
    if study.reads_evaluation:
        return find_record_files(results)
    found = find_record_files(results / "studies")
    # By name without endings: the file may be plain or packed.
    return [file for file in found if record_name(file) == study.name]


def count_rows(study: Study, results: Path) -> int:
    """Return how many rows a folder of results has for a study."""
    return sum(len(read_records(file)) for file in files_of(study, results))
