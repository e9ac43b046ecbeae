"""The studies in a report: their sections, or how to run them."""

from collections.abc import Sequence
from dataclasses import replace

from metro.evaluation.records import Record
from metro.report.document import Block, Command, Heading, Picture, Text
from metro.report.inputs import ReportInputs
from metro.report.study import Section, Study

_LEVEL = 3
_NONE = "No study is known to this version."


def study_part(inputs: ReportInputs, studies: Sequence[Study]) -> Section:
    """Return the studies' part of the page; one that was not run says how to."""
    page: list[Block] = [Heading("Studies")]
    pictures: dict[str, bytes] = {}
    for study in studies:
        page += [Heading(study.title, _LEVEL), Text(study.question)]
        rows = _rows(study, inputs)
        if rows:
            section = study.render(rows)
            page += _below_heading(study, section.blocks)
            for name, content in section.pictures.items():
                pictures[_picture_name(study, name)] = content
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


def _rows(study: Study, inputs: ReportInputs) -> Sequence[Record]:
    if study.reads_evaluation:
        return inputs.rows
    return inputs.study_rows.get(study.name, [])


def _below_heading(study: Study, blocks: Sequence[Block]) -> list[Block]:
    """Return a section's blocks below the study's own heading, pictures renamed."""
    # The page has the study's title and question already.
    repeated = (Text(study.question), Heading(study.title, _LEVEL - 1))
    return [_nested(study, block) for block in blocks if block not in repeated]


def _nested(study: Study, block: Block) -> Block:
    match block:
        case Heading():
            return replace(block, level=max(block.level, _LEVEL + 1))
        case Picture():
            return replace(block, name=_picture_name(study, block.name))
        case _:
            return block


def _picture_name(study: Study, picture: str) -> str:
    # Two studies may give their pictures the same name.
    return f"study-{study.name}-{picture}"
