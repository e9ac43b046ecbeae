"""The inputs of a report: rows, rows of studies, pictures, findings in words."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from metro.analysis.episode_results import load_records
from metro.errors import BenchmarkError
from metro.evaluation.records import Record, find_record_files, record_name

PREFACE, CAPTIONS = "preface.md", "captions.json"
STUDIES, PICTURES = "studies", "pictures"


@dataclass(frozen=True)
class ReportPicture:
    """A storyboard or a video: what it shows, and the command that made it."""

    name: str
    content: bytes = field(repr=False)
    caption: str
    command: str


@dataclass(frozen=True)
class ReportInputs:
    """What a report is made from: rows of ``metro evaluate`` and what goes along."""

    rows: Sequence[Record]
    study_rows: Mapping[str, Sequence[Record]] = field(default_factory=dict)
    """By the name of the study."""
    pictures: tuple[ReportPicture, ...] = ()
    preface: str = ""
    """Title and findings in Markdown; empty: nobody wrote them."""
    files: tuple[str, ...] = ()
    """Names of the files that the rows come from."""


def gather(paths: Iterable[Path]) -> ReportInputs:
    """Return the inputs at ``paths``: files of rows, or folders.

    A folder has rows (``*.jsonl``, or packed, ``*.jsonl.gz``), and may have rows of
    studies (``studies/NAME.jsonl``), pictures with their captions, and a preface.
    """
    files: list[Path] = []
    studies: dict[str, Sequence[Record]] = {}
    pictures: list[ReportPicture] = []
    prefaces: list[str] = []
    for path in paths:
        if not path.is_dir():
            files.append(path)
            continue
        found = find_record_files(path)
        if not found:
            raise BenchmarkError(
                f"{path} has no rows (*.jsonl). metro evaluate -o {path}/rows.jsonl "
                f"writes them."
            )
        files += found
        for file in find_record_files(path / STUDIES):
            name = record_name(file)
            # Two folders may have the same study: its rows belong together.
            studies[name] = [*studies.get(name, []), *load_records([file])]
        pictures += _pictures(path / PICTURES)
        if (path / PREFACE).exists():
            prefaces.append((path / PREFACE).read_text())
    return ReportInputs(
        load_records(files),
        studies,
        tuple(pictures),
        "\n".join(prefaces),
        tuple(file.name for file in files),
    )


def _pictures(folder: Path) -> list[ReportPicture]:
    """Return the pictures of a folder in the order of their captions."""
    files = {
        file.name for file in folder.glob("*.*") if file.suffix in (".png", ".gif")
    }
    captions = _captions(folder / CAPTIONS)
    # A picture without a caption, or the reverse, is a mistake that no page shows.
    for name in sorted(files ^ captions.keys()):
        what = "has no caption" if name in files else "has a caption, but is not there"
        raise BenchmarkError(f"{folder / name} {what}. Mend {folder / CAPTIONS}.")
    return [
        ReportPicture(
            name, (folder / name).read_bytes(), entry["caption"], entry["command"]
        )
        for name, entry in captions.items()
    ]


def _captions(path: Path) -> dict[str, dict[str, str]]:
    if not path.exists():
        return {}
    try:
        captions = json.loads(path.read_text())
        complete = all(
            {"caption", "command"} <= entry.keys() for entry in captions.values()
        )
    except (ValueError, AttributeError):
        complete = False
    if not complete:
        raise BenchmarkError(
            f'{path} must be {{"file": {{"caption": ..., "command": ...}}}}. Mend it.'
        )
    return dict(captions)
