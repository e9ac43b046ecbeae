"""Cells: equal to brute force bit for bit, on friendly and on hostile corpora."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from table_makers import brute_table, corpora, latents_of, same

import metro
from metro.core import neighbours
from metro.core.cell_index import CellIndex
from metro.core.neighbours import NO_EPISODE, BruteForceIndex
from metro.kernels.neighbours.table_blocks import ByCells, ByProducts
from metro.storage.parts import Parts

LENGTH = 50


@pytest.mark.parametrize("name", corpora())
def test_table_equals_brute_force(name, monkeypatch):
    """By cells and, where nothing can be pruned, by products: the same bits."""
    latents = latents_of(corpora()[name])
    expected = brute_table(latents, 4)
    index = CellIndex(latents, workers=2)
    for pays in (True, False):
        monkeypatch.setattr(CellIndex, "_pruning_pays", lambda *_, pays=pays: pays)
        assert same(index.table(4), expected)


@pytest.mark.parametrize("name", corpora())
def test_entry_equals_brute_force(name):
    """Queries on, near and far from the corpus, in both precisions, held out or not."""
    latents = latents_of(corpora()[name])
    rng = np.random.default_rng(1)
    rows = rng.integers(latents.num_frames, size=40)
    near = latents.z[rows] + 0.05 * rng.standard_normal((40, latents.dim))
    excluded = np.where(rng.random(40) < 0.5, latents.episode_of(rows), NO_EPISODE)
    index, brute = CellIndex(latents, workers=2), BruteForceIndex(latents)
    for queries in (latents.z[rows], near, near.astype(np.float32), 50 + near):
        found = index.nearest(queries, 5, excluded)
        assert same(found, brute.nearest(queries, 5, excluded))


def test_the_number_of_workers_changes_nothing():
    """One thread or three: the same bytes."""
    latents = latents_of(corpora()["pushing"])
    one, three = (CellIndex(latents, workers=count).table(4) for count in (1, 3))
    assert one[0].tobytes() == three[0].tobytes()
    assert one[1].tobytes() == three[1].tobytes()


def test_more_neighbours_than_frames_of_other_episodes():
    """Missing neighbours are -1 at an infinite gap, as everywhere."""
    rng = np.random.default_rng(2)
    latents = metro.Latents(rng.standard_normal((300, 8)), [0, 290, 300])
    assert same(CellIndex(latents).table(12), brute_table(latents, 12))


def test_the_probe_notices_isotropic_noise(monkeypatch):
    """Where pruning does not pay, products do the rest, and the answer is the same."""
    taken = []
    plain = ByProducts.blocks

    def watched(self, *arguments):
        taken.append(True)
        return plain(self, *arguments)

    monkeypatch.setattr(ByProducts, "blocks", watched)
    rng = np.random.default_rng(3)
    latents = latents_of(rng.standard_normal((12000, 192)))
    table = metro.find_neighbours(latents)
    assert taken
    assert same((table.frame, table.gap), brute_table(latents, 4))


def test_find_neighbours_uses_cells_and_keeps_them(monkeypatch):
    """A large corpus gets cells, and goals and entries ask the same ones."""
    monkeypatch.setattr(neighbours, "SMALL", 1000)
    latents = latents_of(corpora()["two rooms"])
    seen = []
    table = metro.find_neighbours(latents, progress=lambda *now: seen.append(now))
    assert isinstance(table.index, CellIndex)
    assert seen[-1] == (3000, 3000)
    pricing = metro.PricingCurve.fit(latents, 8)
    graph = metro.build_graph(latents, table, pricing)
    assert graph.index is table.index
    other = metro.build_graph(
        latents,
        neighbours.NeighbourTable(*brute_table(latents, 4), latents.digest),
        pricing,
    )
    goal = latents.z[1234] + 0.01
    found = metro.find_routes(graph, goal, held_out=3)
    expected = metro.find_routes(other, goal, held_out=3)
    np.testing.assert_array_equal(found.cost_to_go, expected.cost_to_go)


@pytest.mark.parametrize("scale", [1e-20, 1e20])
def test_extreme_scales_go_to_brute_force(scale, monkeypatch):
    """Where squares leave float32's range, cells are not used."""
    monkeypatch.setattr(neighbours, "SMALL", 1000)
    latents = latents_of(scale * corpora()["two rooms"])
    assert isinstance(neighbours.make_index(latents), BruteForceIndex)
    table = metro.find_neighbours(latents)
    assert same((table.frame, table.gap), brute_table(latents, 4))


def test_an_interrupted_table_goes_on(tmp_path, monkeypatch):
    """Finished rows are kept, not made again, and removed at the end."""
    monkeypatch.setattr(neighbours, "SMALL", 1000)
    latents = latents_of(corpora()["pushing"])
    expected = brute_table(latents, 4)
    calls = []
    plain = ByCells.answer

    def failing(self, *arguments):
        calls.append(arguments)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return plain(self, *arguments)

    monkeypatch.setattr(ByCells, "answer", failing)
    monkeypatch.setattr(CellIndex, "_pruning_pays", lambda *_: True)
    checkpoint = tmp_path / "partial"
    with pytest.raises(KeyboardInterrupt):
        metro.find_neighbours(latents, workers=1, checkpoint=Parts(checkpoint))
    finished = sum(len(part["frames"]) for part in Parts(checkpoint).finished())
    assert 0 < finished < 3000
    seen = []
    table = metro.find_neighbours(
        latents, checkpoint=Parts(checkpoint), progress=lambda *now: seen.append(now)
    )
    assert seen[0] == (finished, 3000)
    assert same((table.frame, table.gap), expected)
    assert not checkpoint.exists()


def test_finished_rows_of_another_corpus_are_thrown_away(tmp_path):
    """A checkpoint belongs to one corpus and one k."""
    parts = Parts(tmp_path / "partial")
    parts.open("one")
    parts.add({"frames": np.arange(2), "gap": np.zeros((2, 4))})
    parts.flush()
    parts.open("one")
    assert len(list(parts.finished())) == 1
    parts.open("two")
    assert list(parts.finished()) == []


KILLED = """
import sys, metro
from perf.synthetic import make_latents
latents = make_latents(40_000, state_dim=8, episode_length=50)
from metro.storage import parts
parts._EVERY_SECONDS = 0.0
print("ready", flush=True)
metro.find_neighbours(latents, checkpoint=parts.Parts(sys.argv[1]),
                      progress=lambda done, total: print(done, flush=True))
"""


def test_a_killed_table_goes_on(tmp_path):
    """kill -9 in the middle, then resume in a new process."""
    checkpoint = tmp_path / "partial"
    command = [sys.executable, "-c", KILLED, str(checkpoint)]
    killed = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    while not list(checkpoint.glob("part-*.npz")):
        assert killed.poll() is None
        time.sleep(0.02)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    again = subprocess.run(command, capture_output=True, text=True, check=True)
    done = [int(line) for line in again.stdout.split()[1:]]
    assert done[0] > 0
    assert done[-1] == 40_000
    assert not checkpoint.exists()
