"""All that a report is made from: rows, rows of studies, pictures, words by hand."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from metro.analysis.episode_results import load_records
from metro.errors import BenchmarkError
from metro.evaluation.records import Record, find_record_files, record_name

PREFACE, STUDIES, PICTURES, CAPTIONS = (
    *("preface.md", "studies", "pictures", "captions.json"),
)


@dataclass(frozen=True)
class ReportPicture:
    """A storyboard or a film.

    Attributes:
        name: Of its file.
        content: The bytes of the file.
        caption: What is to be seen.
        command: What made it.
    """

    name: str
    content: bytes = field(repr=False)
    caption: str
    command: str


@dataclass(frozen=True)
class ReportInputs:
    """What a report tells.

    Attributes:
        rows: Of ``metro evaluate``.
        study_rows: Of the studies, by name.
        pictures: Storyboards and films.
        preface: What we found, in Markdown; empty: nobody wrote it.
    """

    rows: Sequence[Record]
    study_rows: Mapping[str, Sequence[Record]] = field(default_factory=dict)
    pictures: tuple[ReportPicture, ...] = ()
    preface: str = ""


def gather(paths: Iterable[Path]) -> ReportInputs:
    """Return the material at ``paths``: files of rows, or folders.

    A folder has rows (``*.jsonl``, or packed, ``*.jsonl.gz``), and may have rows of
    studies (``studies/NAME.jsonl``), pictures with their captions, and a preface.

    Raises:
        BenchmarkError: If there are no rows, or captions and pictures do not fit.
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
            studies[name] = [*studies.get(name, []), *load_records([file])]
        pictures += _pictures(path / PICTURES)
        if (path / PREFACE).exists():
            prefaces.append((path / PREFACE).read_text())
    return ReportInputs(
        load_records(files), studies, tuple(pictures), "\n".join(prefaces)
    )


def _pictures(folder: Path) -> list[ReportPicture]:
    """Return the pictures of a folder in the order of their captions."""
    files = {
        file.name for file in folder.glob("*.*") if file.suffix in (".png", ".gif")
    }
    told = _captions(folder / CAPTIONS)
    for name in sorted(files ^ told.keys()):
        what = "has no caption" if name in files else "has a caption, but is not there"
        raise BenchmarkError(f"{folder / name} {what}. Mend {folder / CAPTIONS}.")
    return [
        ReportPicture(
            name, (folder / name).read_bytes(), entry["caption"], entry["command"]
        )
        for name, entry in told.items()
    ]


def _captions(path: Path) -> dict[str, dict[str, str]]:
    if not path.exists():
        return {}
    try:
        told = json.loads(path.read_text())
        complete = all(
            {"caption", "command"} <= entry.keys() for entry in told.values()
        )
    except (ValueError, AttributeError):
        complete = False
    if not complete:
        raise BenchmarkError(
            f'{path} must be {{"file": {{"caption": ..., "command": ...}}}}. Mend it.'
        )
    return dict(told)
