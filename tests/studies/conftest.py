"""A small recorded TwoRoom that the tests of studies share."""

import shutil

import pytest
from typer.testing import CliRunner

from metro import Latents
from metro.cli import app
from study_makers import MADE


@pytest.fixture(scope="session")
def folder(tworoom_folder, tmp_path_factory):
    """Twelve episodes with latents and graph, and four queries 15 frames apart."""
    folder = tmp_path_factory.mktemp("studies") / "tworoom"
    path = shutil.copytree(tworoom_folder, folder) / "tworoom.h5"
    command = ["queries", "tworoom", "--corpus", str(path), "--seed", "1", "--count"]
    command += ["4", "--goal-distance", "15", "-o", str(folder / "q.csv")]
    assert CliRunner().invoke(app, command).exit_code == 0
    return folder


@pytest.fixture
def made(rooms):
    """Latents that say where they come from."""
    return Latents(rooms.z, rooms.episode_offsets, MADE)
