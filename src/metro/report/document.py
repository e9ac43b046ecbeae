"""A page as a list of blocks, and its Markdown; `html` has its HTML."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Heading:
    """A title; level 1 is the page's."""

    text: str
    level: int = 2


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Prose:
    """Paragraphs, lists and tables written by hand, in Markdown without headings."""

    text: str


@dataclass(frozen=True)
class Command:
    """Commands, one per line."""

    text: str


@dataclass(frozen=True)
class Table:
    """Rows under a header, and a line below that says where they come from."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str


@dataclass(frozen=True)
class Picture:
    """A PNG or GIF file beside the page."""

    name: str
    description: str
    """What it shows, for those who cannot see it."""
    is_photo: bool = False
    """Recorded pixels are never recoloured."""
    is_wide: bool = False


@dataclass(frozen=True)
class Fold:
    """A part of the page that opens on a click, and always in print."""

    heading: Heading
    blocks: tuple["Block", ...]


Block = Heading | Text | Prose | Command | Table | Picture | Fold


def to_markdown(blocks: Iterable[Block]) -> str:
    """Return the page as Markdown; pictures are links to files beside it."""
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading():
            return f"{'#' * block.level} {block.text}"
        case Text() | Prose():
            return block.text
        case Command():
            return f"```\n{block.text}\n```"
        case Picture():
            return f"![{block.description}]({block.name})"
        case Fold():
            # Markdown has nothing that folds.
            return to_markdown([block.heading, *block.blocks]).rstrip("\n")
        case Table():
            rule = ("---",) * len(block.header)
            lines = [_line(cells) for cells in (block.header, rule, *block.rows)]
            return "\n".join(lines) + f"\n\n*{block.caption}*"


def _line(cells: Iterable[str]) -> str:
    # A bare bar would begin another column.
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
