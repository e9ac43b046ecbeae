"""Every code block of every page and every example is executed, or checked."""

import os
import subprocess
import sys

import pytest
from docs_makers import ROOT, Block, check_command, find_blocks, run_page

LONG = {"results.md", "performance.md"}
"""Generated pages, whose commands take hours: their options are checked."""

PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def name(path):
    return path.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module")
def shelf(tmp_path_factory):
    """Where outputs that several pages make by the same command are kept."""
    return tmp_path_factory.mktemp("shelf")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_blocks_run_in_order(page, tmp_path, monkeypatch, shelf):
    """What a page shows works as it stands, from the first block to the last."""
    monkeypatch.chdir(tmp_path)
    if page.name in LONG:
        for block in find_blocks(page):
            for words in block.commands if block.kind == "sh" else ():
                check_command(words)
    else:
        run_page(page, tmp_path, shelf)


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_every_block_says_its_language(page):
    """A block without a language would be neither run nor coloured."""
    assert [block.line for block in find_blocks(page) if not block.kind] == []


@pytest.mark.parametrize("script", EXAMPLES, ids=name)
def test_examples_run(script, tmp_path):
    """Every example is a whole program."""
    paths = os.pathsep.join([str(ROOT / "src"), str(script.parent)])
    ran = subprocess.run(
        [sys.executable, script],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    assert ran.stdout.strip(), "an example prints what it found"


def test_examples_are_short():
    """An example is read in a minute: 8 to 60 lines."""
    lengths = {name(file): len(file.read_text().splitlines()) for file in EXAMPLES}
    assert {key: n for key, n in lengths.items() if not 8 <= n <= 60} == {}


@pytest.mark.parametrize(
    "line",
    ["metro fly", "metro build x.latents -o x --budget 8", "metro build", "make tea"],
)
def test_wrong_commands_are_found(line):
    """A verb, an option, an argument or a target that does not exist is an error."""
    with pytest.raises(Exception, match=r"fly|--budget|needs|tea"):
        check_command(Block("sh", line, 1, is_run=True).commands[0])
