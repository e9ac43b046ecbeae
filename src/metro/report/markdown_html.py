"""Markdown written by hand, as HTML."""

import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.token import Token

_FENCE = "```"


def sections(text: str) -> list[tuple[str, str]]:
    """Return (heading, body) of every ``##``; what stands before them has none."""
    lines, found = text.split("\n"), [("", [])]  # type: list[str], list[tuple[str, list[str]]]
    fenced = False
    for line in lines:
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
