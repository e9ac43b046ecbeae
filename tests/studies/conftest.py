"""A small recorded TwoRoom that the tests of studies share."""

import pytest
from typer.testing import CliRunner

from metro import Latents, PricingCurve, build_graph, find_neighbours, save
from metro.benchmark import load_benchmark
from metro.cli import app
from metro.data.collect.record import record
from metro.data.corpus import open_corpus
from metro.data.encode import encode_corpus
from metro.models.loading import load_model
from study_makers import MADE, MODEL


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """Twelve episodes with latents and graph, and four queries 15 frames apart."""
    folder = tmp_path_factory.mktemp("studies")
    benchmark, model = load_benchmark("tworoom"), load_model(MODEL)
    path = folder / "tworoom.h5"
    record(benchmark, path, episodes=12, seed=5, image_size=model.image_size)
    with open_corpus(path) as corpus:
        latents = encode_corpus(corpus, model, folder / "tworoom.latents").latents
    pricing = PricingCurve.fit(latents, waypoint_budget=8)
    graph = build_graph(latents, find_neighbours(latents), pricing)
    save(graph, folder / "tworoom.metro")
    command = ["queries", "tworoom", "--corpus", str(path), "--seed", "1", "--count"]
    command += ["4", "--goal-distance", "15", "-o", str(folder / "q.csv")]
    assert CliRunner().invoke(app, command).exit_code == 0
    return folder


@pytest.fixture
def made(rooms):
    """Latents that say where they come from."""
    return Latents(rooms.z, rooms.episode_offsets, MADE)
