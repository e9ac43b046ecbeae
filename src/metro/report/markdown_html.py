"""Text written by hand, in the little Markdown that we use, as HTML."""

import re
from collections.abc import Iterator
from html import escape

_FENCE = "```"


def sections(text: str) -> list[tuple[str, str]]:
    """Return (heading, body) of every ``##``; what stands before them has none."""
    lines, found = text.split("\n"), [("", [])]  # type: list[str], list[tuple[str, list[str]]]
    fenced = False
    for line in lines:
        fenced ^= line.startswith(_FENCE)
        if line.startswith("## ") and not fenced:
            found.append((line[3:].strip(), []))
        elif line.strip() != "---" and not line.startswith("# "):
            found[-1][1].append(line)
    return [(title, "\n".join(body).strip()) for title, body in found]


def prose_to_html(text: str) -> str:
    """Return paragraphs, lists, tables and code as HTML.

    Links to files lead nowhere from a page on its own; only their words are kept.
    """
    return "\n".join(_block(chunk) for chunk in _chunks(text))


def _chunks(text: str) -> Iterator[str]:
    """Yield what blank lines part; a fence is one chunk."""
    for number, part in enumerate(text.split(_FENCE)):
        if number % 2:
            yield _FENCE + part.strip("\n")
        else:
            yield from (chunk for chunk in re.split(r"\n\s*\n", part) if chunk.strip())


def _block(chunk: str) -> str:
    if chunk.startswith(_FENCE):
        return f"<pre><code>{escape(chunk[len(_FENCE) :])}</code></pre>"
    chunk = chunk.strip("\n")
    if chunk.startswith("- "):
        items = re.split(r"^- ", chunk, flags=re.M)[1:]
        return "<ul>" + "".join(f"<li>{inline(item)}</li>" for item in items) + "</ul>"
    if chunk.startswith("|"):
        return _table(chunk.split("\n"))
    return f"<p>{inline(chunk)}</p>"


def _table(lines: list[str]) -> str:
    head, _, *rows = (
        [part.strip() for part in line.strip("| ").split(" | ")] for line in lines
    )
    top = "".join(f"<th>{inline(cell)}</th>" for cell in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{inline(cell)}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return (
        f'<div class="table" tabindex="0"><table><thead><tr>{top}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def inline(text: str) -> str:
    """Return a line with code, strong and emphasised words and links as HTML."""
    parts = re.split(r"(`[^`]+`)", " ".join(text.split()))
    return "".join(
        f"<code>{escape(part[1:-1])}</code>" if part.startswith("`") else _words(part)
        for part in parts
    )


def _words(text: str) -> str:
    text = escape(text, quote=False)
    text = re.sub(r"\[([^]]+)\]\((https?:[^)]+)\)", r'<a href="\2">\1</a>', text)
    text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", text)
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text)
    return re.sub(r"(?<!\w)\*([^*]+)\*(?!\w)", r"<em>\1</em>", text)
