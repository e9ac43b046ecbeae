"""The studies in a report: their sections, or how to run them."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from metro.report.document import Block, Command, Heading, Picture, Text
from metro.report.inputs import ReportInputs
from metro.report.study import Section, Study

_LEVEL = 3
_NONE = "No study is known to this version."


def study_part(material: ReportInputs, studies: Sequence[Study]) -> Section:
    """Return the studies' part of the page; one that was not run says how to."""
    page: list[Block] = [Heading("Studies")]
    pictures: dict[str, bytes] = {}
    for study in studies:
        page += [Heading(study.title, _LEVEL), Text(study.question)]
        rows = _rows(study, material)
        if rows:
            section = study.render(rows)
            page += _inside(study, section.blocks)
            found = section.pictures.items()
            pictures |= {_name(study, name): content for name, content in found}
        else:
            page += [Text("Not run. This runs it:")]
        page += [Command(study.command)]
    known = {study.name for study in studies}
    page += [
        Text(f"There are rows of {name}, but no study of this name: left out.")
        for name in sorted(material.study_rows.keys() - known)
    ]
    page += [Text(_NONE)] if len(page) == 1 else []
    return Section(tuple(page), pictures)


def _rows(study: Study, material: ReportInputs) -> Sequence[Any]:
    if study.reads_evaluation:
        return material.rows
    return material.study_rows.get(study.name, [])


def _inside(study: Study, blocks: Sequence[Block]) -> list[Block]:
    """Return a section's blocks below the study's own heading, pictures renamed."""
    return [
        replace(block, level=max(block.level, _LEVEL + 1))
        if isinstance(block, Heading)
        else replace(block, name=_name(study, block.name))
        if isinstance(block, Picture)
        else block
        for block in blocks
        if block not in (Text(study.question), Heading(study.title, _LEVEL - 1))
    ]


def _name(study: Study, picture: str) -> str:
    return f"study-{study.name}-{picture}"
