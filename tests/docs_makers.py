"""Code blocks of Markdown pages: found, run in order, or only checked."""

import re
import shlex
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

import click
import typer.main

from metro.cli import app

ROOT = Path(__file__).parents[1]
KEPT = ("record", "encode")
"""Verbs whose output pages share: the same command is run once per session."""

_BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>[^\n]*) -->\n)?```(?P<kind>\w*)\n(?P<text>.*?)^```", re.M | re.S
)


@dataclass(frozen=True)
class Block:
    """One fenced block of a page.

    Attributes:
        kind: ``python``, ``sh``, ``text``, or another language.
        text: What is inside.
        line: Number of its first line in the page.
        is_run: False if the page marks it ``<!-- check only: REASON -->``.
    """

    kind: str
    text: str
    line: int
    is_run: bool

    @property
    def commands(self):
        """The command lines of a shell block, each as a list of words."""
        joined = self.text.replace("\\\n", " ").splitlines()
        return [words for line in joined if (words := shlex.split(line, comments=True))]


def find_blocks(page):
    """Return the fenced blocks of a Markdown file, in order."""
    text = page.read_text()
    found = []
    for match in _BLOCK.finditer(text):
        mark = match["mark"] or ""
        line = text.count("\n", 0, match.start("text")) + 1
        is_run = not mark.startswith("check only: ")
        found.append(Block(match["kind"], match["text"], line, is_run))
    return found


def run_page(page, folder, shelf):
    """Run the blocks of a page in ``folder``, Python ones in one namespace."""
    namespace = {"__name__": "__main__"}
    for block in find_blocks(page):
        if block.kind == "python" and block.is_run:
            padded = "\n" * (block.line - 1) + block.text
            exec(compile(padded, str(page), "exec"), namespace)
        elif block.kind == "python":
            compile(block.text, str(page), "exec")
        elif block.kind == "sh":
            for words in block.commands:
                check_command(words)
                if block.is_run and words[0] == "metro":
                    run_metro(words[1:], folder, shelf)


def run_metro(words, folder, shelf):
    """Run a verb in this process; take a kept output from the shelf."""
    if words[0] not in KEPT:
        typer.main.get_command(app).main(words, standalone_mode=False)
        return
    output = folder / words[words.index("-o") + 1]
    kept = shelf / re.sub(r"\W+", "-", " ".join(words))
    if not kept.exists():
        typer.main.get_command(app).main(words, standalone_mode=False)
        _copy(output, kept)
    elif not output.exists():
        _copy(kept, output)


def check_command(words):
    """Raise unless a command exists and takes the options that it is given."""
    name, *rest = words
    if name == "metro":
        _check_verb(rest)
    elif name == "make":
        targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.M)
        assert rest[0] in targets, f"make has no target {rest[0]}"
    elif words[:2] == ["pip", "install"]:
        _check_extras(rest[-1])
    elif words[:2] == ["python", "-m"]:
        assert (ROOT / f"{rest[1].replace('.', '/')}.py").exists(), rest[1]
    elif name == "python":
        assert (ROOT / rest[0]).exists(), rest[0]
    else:
        assert name in ("cd", "export", "git"), f"unknown command {name}"


def _check_verb(words):
    command, context = typer.main.get_command(app), None
    while isinstance(command, click.Group) or hasattr(command, "commands"):
        assert words[0] in command.commands, f"metro has no verb {words[0]}"
        command, words = command.commands[words[0]], words[1:]
    context = command.make_context("metro", [], resilient_parsing=True)
    context.resilient_parsing = False
    values, extra, _ = command.make_parser(context).parse_args(list(words))
    missing = [p.name for p in command.params if p.required and not values.get(p.name)]
    assert not missing, f"{command.name} needs {missing}"
    assert not extra, f"{command.name} takes no {extra}"


def _check_extras(requirement):
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = re.search(r"\[([\w,]+)\]", requirement)
    for extra in extras[1].split(",") if extras else ():
        assert extra in table["optional-dependencies"], f"no extra {extra}"


def _copy(source, target):
    if source.is_dir():
        shutil.copytree(source, target)
    else:
        shutil.copyfile(source, target)
