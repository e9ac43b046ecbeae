"""A page as a list of blocks, and its two forms: Markdown and one HTML file."""

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape


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
class Table:
    """Rows under a header, and a line below that says where they come from."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str


@dataclass(frozen=True)
class Picture:
    """A PNG file beside the page."""

    name: str
    description: str


Block = Heading | Text | Table | Picture

_STYLE = """
:root { --ink: #1c1e21; --paper: #fdfdfc; --quiet: #63676d; --line: #d9dbde;
  --band: #f2f3f4; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e7e9; --paper: #16181b;
  --quiet: #9a9fa6; --line: #34383d; --band: #1f2226; } }
body { margin: 0 auto; max-width: 60rem; padding: 1rem; color: var(--ink);
  background: var(--paper); font: 1rem/1.5 system-ui, sans-serif; }
p { overflow-wrap: anywhere; }
h1, h2, h3 { line-height: 1.2; margin: 2rem 0 0.75rem; }
h2 { border-top: 1px solid var(--line); padding-top: 1.5rem; }
.table { overflow-x: auto; border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; font-size: 0.875rem; min-width: 100%;
  font-variant-numeric: tabular-nums; }
th, td { padding: 0.35rem 0.7rem; text-align: left; white-space: nowrap; }
th { border-bottom: 1px solid var(--line); }
tbody tr:nth-child(even) { background: var(--band); }
.source { color: var(--quiet); font-size: 0.8rem; margin: 0.4rem 0 1.5rem; }
img { background: #fff; border-radius: 6px; display: block; height: auto;
  margin: 1rem 0; max-width: 100%; }
"""


def to_markdown(blocks: Iterable[Block]) -> str:
    """Return the page as Markdown; pictures are links to files beside it."""
    return "\n\n".join(_markdown(block) for block in blocks) + "\n"


def to_html(blocks: Sequence[Block], pictures: Mapping[str, bytes]) -> str:
    """Return the page as one HTML file that needs nothing else.

    Args:
        blocks: The page; its first heading is the title.
        pictures: The bytes of every picture, by name.
    """
    titles = [block.text for block in blocks if isinstance(block, Heading)]
    body = "\n".join(_html(block, pictures) for block in blocks)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(titles[0])}</title>\n<style>{_STYLE}</style>\n</head>\n"
        f"<body>\n{body}\n</body>\n</html>\n"
    )


def _markdown(block: Block) -> str:
    if isinstance(block, Heading):
        return f"{'#' * block.level} {block.text}"
    if isinstance(block, Text):
        return block.text
    if isinstance(block, Picture):
        return f"![{block.description}]({block.name})"
    rule = ("---",) * len(block.header)
    lines = [_line(cells) for cells in (block.header, rule, *block.rows)]
    return "\n".join(lines) + f"\n\n*{block.caption}*"


def _line(cells: Iterable[str]) -> str:
    shown = (cell.replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(shown)} |"


def _html(block: Block, pictures: Mapping[str, bytes]) -> str:
    if isinstance(block, Heading):
        return f"<h{block.level}>{escape(block.text)}</h{block.level}>"
    if isinstance(block, Text):
        return f"<p>{escape(block.text)}</p>"
    if isinstance(block, Picture):
        source = b64encode(pictures[block.name]).decode()
        return (
            f'<img alt="{escape(block.description)}" '
            f'src="data:image/png;base64,{source}">'
        )
    head = _cells(block.header, "th")
    rows = "\n".join(_cells(row, "td") for row in block.rows)
    # tabindex: a box that scrolls can be scrolled with the keyboard too
    return (
        f'<div class="table" tabindex="0"><table>\n<thead>{head}</thead>\n'
        f"<tbody>\n{rows}\n</tbody>\n</table></div>\n"
        f'<p class="source">{escape(block.caption)}</p>'
    )


def _cells(row: Iterable[str], kind: str) -> str:
    return "<tr>" + "".join(f"<{kind}>{escape(c)}</{kind}>" for c in row) + "</tr>"
