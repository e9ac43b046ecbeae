"""A small recorded TwoRoom that the tests of evaluation share."""

from pathlib import Path

import pytest
from bench_makers import open_tworoom
from typer.testing import CliRunner

from metro.cli import app
from metro.evaluation.context import EvalConfig
from metro.evaluation.queries import (
    sample_queries,
)


@pytest.fixture(scope="session")
def context(tworoom_folder):
    """Twelve recorded episodes, their latents and their graph."""
    with open_tworoom(tworoom_folder) as opened:
        yield opened


@pytest.fixture(scope="session")
def queries(context):
    """Four of them, 15 frames apart."""
    return sample_queries(context.corpus.lengths, goal_distance=15, count=4, seed=1)


@pytest.fixture(scope="session")
def query_file(context, tmp_path_factory):
    """The same four, looked at in their world, as the verb writes them."""
    path = tmp_path_factory.mktemp("queries") / "q.csv"
    command = ["queries", "tworoom", "--corpus", context.corpus.name, "--seed", "1"]
    command += ["--goal-distance", "15", "--count", "4", "-o", str(path)]
    shown = CliRunner().invoke(app, command)
    assert shown.exit_code == 0, shown.output
    return path


@pytest.fixture(scope="session")
def source(context):
    """Where the parts of the context are."""
    graph = Path(context.corpus.name).with_suffix(".metro")
    return EvalConfig("tworoom", context.corpus.name, "lewm-small-tworoom", graph)
