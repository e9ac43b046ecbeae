"""A study: its question, rows, the command that writes them, its part of a report."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from metro.evaluation.records import (
    Record,
    find_record_files,
    read_records,
    record_name,
)
from metro.report.document import Block, Command, Heading, Picture, Text
from metro.report.inputs import STUDIES, ReportInputs

_NONE = "No study is known to this version."


@dataclass(frozen=True)
class Section:
    """A study's part of the report, below its title and question."""

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


def count_rows(study: Study, results: Path) -> int:
    """Return how many rows a folder of results has for a study."""
    files = find_record_files(results if study.reads_evaluation else results / STUDIES)
    return sum(
        len(read_records(file))
        for file in files
        # By name without endings: the file may be plain or packed.
        if study.reads_evaluation or record_name(file) == study.name
    )


def study_part(inputs: ReportInputs, studies: Sequence[Study]) -> Section:
    """Return the studies' part of the page; one that was not run says how to."""
    page: list[Block] = [Heading("Studies")]
    pictures: dict[str, bytes] = {}
    for study in studies:
        page += [Heading(study.title, 3), Text(study.question)]
        own = inputs.study_rows.get(study.name, [])
        rows = inputs.rows if study.reads_evaluation else own
        if rows:
            section = study.render(rows)
            # Two studies may give their pictures the same name.
            prefix = f"study-{study.name}-"
            page += [
                replace(block, name=prefix + block.name)
                if isinstance(block, Picture)
                else block
                for block in section.blocks
            ]
            pictures |= {prefix + name: png for name, png in section.pictures.items()}
        else:
            page += [Text("Not run. This runs it:")]
        page += [Command(study.command)]
    known = {study.name for study in studies}
    # Said, not raised: results of another version must still give a report.
    page += [
        Text(f"There are rows of {name}, but no study of this name: left out.")
        for name in sorted(inputs.study_rows.keys() - known)
    ]
    page += [] if studies else [Text(_NONE)]
    return Section(tuple(page), pictures)
