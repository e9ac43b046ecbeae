"""A list of blocks as one HTML file that needs nothing else: no server, no network."""

import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files

from metro.report.document import (
    Block,
    Command,
    Fold,
    Heading,
    Picture,
    Prose,
    Table,
    Text,
)
from metro.report.markdown_html import prose_to_html

_DEEPEST_LISTED = 3
# Folded parts are part of what is printed.
_SCRIPT = (
    "addEventListener('beforeprint',()=>document.querySelectorAll('details')"
    ".forEach(part=>part.open=true));"
)


def to_html(blocks: Sequence[Block], pictures: Mapping[str, bytes]) -> str:
    """Return the page as one HTML file.

    Args:
        blocks: The page; its first heading is the title.
        pictures: The bytes of every picture, by name.
    """
    page = _Page(pictures)
    # Before the rest: title and contents are known after all headings.
    body = "\n".join(map(page.render, blocks))
    style = files("metro.report").joinpath("style.css").read_text()
    # The empty icon keeps browsers from asking a server for one.
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<link rel="icon" href="data:,">\n'
        f"<title>{escape(page.title)}</title>\n<style>{style}</style>\n</head>\n"
        f'<body>\n<nav aria-label="Contents">{page.contents}</nav>\n'
        f"<main>\n{body}\n</main>\n<script>{_SCRIPT}</script>\n</body>\n</html>\n"
    )


class _Page:
    """Blocks to HTML, one after the other; headings get anchors of their own."""

    def __init__(self, pictures: Mapping[str, bytes]) -> None:
        self._pictures = pictures
        self._anchors: dict[str, Heading] = {}

    @property
    def title(self) -> str:
        return next(iter(self._anchors.values())).text

    @property
    def contents(self) -> str:
        """The list of sections, and of what is in them."""
        links = [
            f'<li class="l{heading.level}"><a href="#{anchor}">'
            f"{escape(heading.text)}</a></li>"
            for anchor, heading in self._anchors.items()
            if heading.level <= _DEEPEST_LISTED
        ]
        return f"<ul>{''.join(links)}</ul>"

    def render(self, block: Block) -> str:
        match block:
            case Heading():
                level, anchor = block.level, self._anchor(block)
                return f'<h{level} id="{anchor}">{escape(block.text)}</h{level}>'
            case Text():
                return f"<p>{escape(block.text)}</p>"
            case Prose():
                return prose_to_html(block.text)
            case Command():
                return f"<pre><code>{escape(block.text)}</code></pre>"
            case Picture():
                return self._picture(block)
            case Table():
                return _table(block)
            case Fold():
                return self._fold(block)

    def _fold(self, fold: Fold) -> str:
        heading = self.render(fold.heading)
        inner = "\n".join(map(self.render, fold.blocks))
        return (
            f"<details><summary>{heading}</summary>\n"
            f'<div class="fold">{inner}</div></details>'
        )

    def _picture(self, picture: Picture) -> str:
        kind = "gif" if picture.name.endswith(".gif") else "png"
        source = b64encode(self._pictures[picture.name]).decode()
        look = "photo" if picture.is_photo else "plot"
        look += " wide" if picture.is_wide else ""
        # tabindex: a box that scrolls can be scrolled with the keyboard too
        return (
            f'<figure class="{look}" tabindex="0"><img '
            f'alt="{escape(picture.description)}" '
            f'src="data:image/{kind};base64,{source}"></figure>'
        )

    def _anchor(self, heading: Heading) -> str:
        """Return a name for a link to a heading, the same for the same page."""
        # A heading without Latin letters would have an empty anchor.
        plain = re.sub(r"[^a-z0-9]+", "-", heading.text.lower()).strip("-") or "part"
        for name in _numbered(plain):
            if name not in self._anchors:
                self._anchors[name] = heading
                return name
        raise AssertionError("names never end")


def _numbered(name: str) -> Iterator[str]:
    yield name
    number = 2
    while True:
        yield f"{name}-{number}"
        number += 1


def _table(table: Table) -> str:
    head = _cells(table.header, "th")
    rows = "\n".join(_cells(row, "td") for row in table.rows)
    return (
        f'<div class="table" tabindex="0"><table>\n<thead>{head}</thead>\n'
        f"<tbody>\n{rows}\n</tbody>\n</table></div>\n"
        f'<p class="source">{escape(table.caption)}</p>'
    )


def _cells(row: Iterable[str], kind: str) -> str:
    cells = (f"<{kind}>{escape(_together(cell))}</{kind}>" for cell in row)
    return f"<tr>{''.join(cells)}</tr>"


def _together(text: str) -> str:
    """Return text whose lines break between numbers, not inside one."""
    text = re.sub(r" (=|±|to|−) ", "\u00a0\\1\u00a0", text)
    return re.sub(r"(\[[^],]+,) ", "\\1\u00a0", text).replace("not run", "not\u00a0run")
