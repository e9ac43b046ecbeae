"""A list of blocks as one HTML file that needs nothing else: no server, no network."""

import re
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files

from markdown_it import MarkdownIt
from markdown_it.token import Token

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

_DEEPEST_LISTED = 3
_FENCE = "```"
# Folded parts are part of what is printed.
_SCRIPT = (
    "addEventListener('beforeprint',()=>document.querySelectorAll('details')"
    ".forEach(part=>part.open=true));"
)


def to_html(blocks: Sequence[Block], pictures: Mapping[str, bytes]) -> str:
    """Return the page as one HTML file, with the bytes of its pictures inside.

    The first heading is the title.
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
                heading = self.render(block.heading)
                inner = "\n".join(map(self.render, block.blocks))
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
        name, number = plain, 1
        while name in self._anchors:
            number += 1
            name = f"{plain}-{number}"
        self._anchors[name] = heading
        return name


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


def sections(text: str) -> list[tuple[str, str]]:
    """Return (heading, body) of every ``##``; what stands before them has none."""
    found: list[tuple[str, list[str]]] = [("", [])]
    fenced = False
    for line in text.split("\n"):
        # A ## in a code block is a comment, not a heading.
        fenced ^= line.startswith(_FENCE)
        if line.startswith("## ") and not fenced:
            found.append((line[3:].strip(), []))
        # The page has a title and rules of its own.
        elif line.strip() != "---" and not line.startswith("# "):
            found[-1][1].append(line)
    return [(title, "\n".join(body).strip()) for title, body in found]


def prose_to_html(text: str) -> str:
    """Return paragraphs, lists, tables and code as HTML.

    A link to a file leads nowhere from a page on its own; only its words are kept.
    """
    # html=False: words by hand must not break the page, or fetch anything.
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens = parser.parse(text)
    for token in tokens:
        if token.children:
            token.children = _without_file_links(token.children)
    page = parser.renderer.render(tokens, parser.options, {})
    # tabindex: a box that scrolls can be scrolled with the keyboard too.
    page = page.replace("<table>", '<div class="table" tabindex="0"><table>')
    return re.sub("</table>", "</table></div>", page).rstrip("\n")


def _without_file_links(tokens: Sequence[Token]) -> list[Token]:
    kept, is_dropped = [], False
    for token in tokens:
        if token.type == "link_open":
            is_dropped = not str(token.attrGet("href")).startswith("http")
        if not (is_dropped and token.type in ("link_open", "link_close")):
            kept.append(token)
    return kept
