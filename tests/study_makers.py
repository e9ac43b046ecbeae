"""Helpers for tests of studies: verbs on a small TwoRoom, and tables of sections."""

import re

import pytest
from typer.testing import CliRunner

from metro.cli import app
from metro.errors import MetroError
from metro.report.document import Table, Text

MODEL = "lewm-small-tworoom"
MADE = {
    "benchmark": "tworoom",
    "model": {"name": "lewm-small-tworoom", "digest": "m1"},
    "corpus": {"name": "tworoom.h5", "digest": "c1"},
}


def study(name, folder, output, *options):
    """Run ``metro study NAME`` on the small TwoRoom in ``folder``."""
    command = ["study", name, "tworoom", "--corpus", str(folder / "tworoom.h5")]
    command += ["--model", MODEL, "-o", str(output), *map(str, options)]
    return CliRunner().invoke(app, command)


def planning(folder):
    """Return the options of a study that plans four near queries."""
    options = ["--graph", folder / "tworoom.metro", "--queries", folder / "q.csv"]
    return [*options, "--goal-distance", 15, "--step-budget", 15]


def table_of(section, number=0):
    """Return one table of a section as dictionaries."""
    table = [block for block in section.blocks if isinstance(block, Table)][number]
    return [dict(zip(table.header, line, strict=True)) for line in table.rows]


def notes_of(section):
    """Return the texts of a section."""
    return [block.text for block in section.blocks if isinstance(block, Text)]


def refused(message, call, *arguments):
    """Check that a call is refused with an error that begins with ``message``."""
    with pytest.raises(MetroError, match=f"^{re.escape(message)}"):
        call(*arguments)
