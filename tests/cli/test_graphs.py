"""The verbs build, inspect and route, in this process."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import metro
from metro.cli import app
from metro.core.inspect import inspect_graph
from metro.core.itinerary import path_segments
from metro.errors import StorageError


def run(*words):
    """Run a verb."""
    return CliRunner().invoke(app, [*map(str, words)])


def test_building_says_what_was_built(rooms, rooms_graph, tmp_path):
    """The line has frames, episodes, bridges and H of the graph in the file."""
    np.savez(tmp_path / "a.npz", z=rooms.z, episode_lengths=rooms.episode_lengths)
    found = run("build", tmp_path / "a.npz", "-o", tmp_path / "a.metro")
    assert found.stdout == (
        f"{tmp_path / 'a.metro'}: 1800 frames of 30 episodes, "
        f"{rooms_graph.num_bridges} bridges, H = 8.\n"
    )
    assert [path.name for path in tmp_path.glob(".*")] == []


def test_building_refuses_before_it_reads(saved):
    """An output that exists is refused though the latents do not exist."""
    before = sorted(saved.parent.rglob("*"))
    found = run("build", "nowhere.npz", "-o", saved)
    assert isinstance(found.exception, StorageError)
    assert sorted(saved.parent.rglob("*")) == before


def test_inspecting_as_json_equals_the_library(saved, rooms_graph):
    """The verb prints the figures that Python returns."""
    told = json.loads(run("inspect", saved, "--json").stdout)
    figures = json.loads(json.dumps(inspect_graph(rooms_graph).to_json()))
    assert told["num_bridges"] == figures["num_bridges"] == rooms_graph.num_bridges
    assert told.keys() == figures.keys()


def test_a_route_as_json_equals_the_library(saved, rooms, rooms_graph):
    """The verb prints the segments that Python returns, and their sum."""
    told = json.loads(run("route", saved, "--from", 100, "--to", 1500, "--json").stdout)
    expected = path_segments(metro.find_routes(rooms_graph, rooms.z[1500]), 100)
    assert told == {
        "from": 100,
        "to": 1500,
        "held_out": None,
        "cost": expected[-1].total,
        "legs": [segment.to_json() for segment in expected],
    }


@pytest.mark.parametrize("words", [("--storyboard", "a.png"), ("--corpus", __file__)])
def test_a_storyboard_needs_its_corpus(saved, words):
    """One of the two options alone is refused."""
    found = run("route", saved, "--from", 1, "--to", 2, *words)
    assert found.exit_code == 2
    assert "--storyboard and --corpus go together." in found.output
