"""Files: what comes back is what went in, or a clear error; never half of it."""

import json
import mmap
import os
import re
import signal
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

import metro
from metro import _arrays
from metro.errors import StorageError


@pytest.fixture
def saved(tmp_path, rooms_graph):
    """A graph on disk."""
    metro.save(rooms_graph, tmp_path / "rooms.metro")
    return tmp_path / "rooms.metro"


def is_mapped(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap.mmap)


def same_graph(a, b):
    fields = ("bridge_offsets", "bridge_frame", "bridge_cost")
    return (
        a.latents.digest == b.latents.digest
        and np.array_equal(a.table.frame, b.table.frame)
        and np.array_equal(a.table.gap, b.table.gap)
        and np.array_equal(a.pricing.gaps, b.pricing.gaps)
        and all(np.array_equal(getattr(a, f), getattr(b, f)) for f in fields)
    )


def test_graphs_come_back_as_they_were(saved, rooms_graph):
    """Arrays, parameters and answers are the same; arrays are mapped, not read."""
    graph = metro.load(saved, verify=True)
    assert same_graph(graph, rooms_graph)
    assert graph.latents.provenance == rooms_graph.latents.provenance
    assert repr(graph) == repr(rooms_graph)
    assert is_mapped(graph.latents.z)
    assert is_mapped(graph.bridge_cost)
    assert not graph.latents.z.flags.writeable
    goal = rooms_graph.latents.z[77]
    np.testing.assert_array_equal(
        metro.find_routes(graph, goal, held_out=2).cost_to_go,
        metro.find_routes(rooms_graph, goal, held_out=2).cost_to_go,
    )


def test_latents_come_back_as_they_were(tmp_path, rooms):
    """A .latents directory holds rows, offsets and provenance."""
    metro.save(rooms, tmp_path / "rooms.latents")
    latents = metro.load(tmp_path / "rooms.latents")
    assert latents.z.tobytes() == rooms.z.tobytes()
    assert latents.digest == rooms.digest
    assert metro.Latents(latents.z, latents.episode_offsets).digest == rooms.digest
    assert latents.provenance == rooms.provenance


def test_a_loaded_graph_can_be_repriced_in_place(saved):
    """The table is in the file; saving over the mapped file itself is safe."""
    graph = metro.load(saved)
    pricing = metro.PricingCurve.fit(graph.latents, 12)
    metro.save(
        metro.build_graph(graph.latents, graph.table, pricing), saved, force=True
    )
    assert metro.load(saved, verify=True).waypoint_budget == 12


def test_a_graph_without_bridges_is_saved(tmp_path):
    """Empty arrays cannot be mapped, and are read instead."""
    latents = metro.Latents(np.arange(4.0)[:, None], [0, 4])
    pricing = metro.PricingCurve.fit(latents, 1)
    graph = metro.build_graph(latents, metro.find_neighbours(latents), pricing)
    metro.save(graph, tmp_path / "line.metro")
    assert same_graph(metro.load(tmp_path / "line.metro"), graph)


def test_the_same_graph_has_the_same_bytes(saved, tmp_path, rooms_graph):
    """No time stamps: artefacts can be compared and addressed by content."""
    metro.save(rooms_graph, tmp_path / "again.metro")
    for file in saved.iterdir():
        assert file.read_bytes() == (tmp_path / "again.metro" / file.name).read_bytes()


def test_nothing_is_overwritten_without_force(saved, rooms_graph):
    """And nothing but an artefact of ours even with it."""
    message = f"{saved} exists already. Replace it with --force."
    with pytest.raises(StorageError, match=f"^{re.escape(message)}$"):
        metro.save(rooms_graph, saved)
    (saved / "notes.txt").write_text("mine")
    with pytest.raises(StorageError, match="is not a metro artefact"):
        metro.save(rooms_graph, saved, force=True)
    assert (saved / "notes.txt").read_text() == "mine"


def test_force_replaces_a_damaged_artefact(saved, rooms_graph):
    """The cure that error messages name must work."""
    (saved / "manifest.json").write_text("{")
    metro.save(rooms_graph, saved, force=True)
    assert same_graph(metro.load(saved), rooms_graph)


def damage(file, place=-1):
    content = bytearray(file.read_bytes())
    content[place] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize(
    ("harm", "verify", "message"),
    [
        (lambda p: (p / "z.npy").unlink(), False, "z.npy is missing"),
        (
            lambda p: os.truncate(p / "bridge_cost.npy", 1000),
            False,
            "bridge_cost.npy has 1000 bytes, its manifest says",
        ),
        (lambda p: damage(p / "z.npy"), True, "z.npy is damaged (its sha256"),
        (lambda p: damage(p / "z.npy", 3), False, "z.npy is damaged ("),
        (lambda p: damage(p / "z.npy", 30), False, "z.npy is damaged"),
        (
            lambda p: np.save(p / "z.npy", np.load(p / "z.npy").T),
            False,
            "z.npy is damaged: it holds",
        ),
        (
            lambda p: damage(p / "manifest.json", 30),
            False,
            "manifest.json is damaged (its checksum does not match)",
        ),
        (
            lambda p: os.truncate(p / "manifest.json", 100),
            False,
            "manifest.json is damaged (",
        ),
        (
            lambda p: (p / "manifest.json").write_text("[1]"),
            False,
            "manifest.json was not written by metro",
        ),
        (lambda p: (p / "manifest.json").unlink(), False, "it has no manifest.json"),
    ],
)
def test_damage_is_named(saved, harm, verify, message):
    """Missing, truncated, flipped or foreign: what and what to do."""
    harm(saved)
    with pytest.raises(StorageError, match=re.escape(message)):
        metro.load(saved, verify=verify)


def rewrite_manifest(path, **changes):
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_bytes(_arrays._seal({**manifest, **changes}))


def test_newer_and_foreign_formats(saved):
    """A version that we do not read, and a kind that we do not know."""
    rewrite_manifest(saved, version=3, metro="9.0")
    message = (
        f"{saved} has metro-graph version 3; this metro reads 1. Install the metro-wm "
        f"that wrote it (9.0), or make it anew: "
        f"metro build LATENTS -o GRAPH.metro --force"
    )
    with pytest.raises(StorageError, match=f"^{re.escape(message)}$"):
        metro.load(saved)
    rewrite_manifest(saved, format="metro-cake")
    with pytest.raises(StorageError, match="holds 'metro-cake', which this metro"):
        metro.load(saved)


def test_arrays_that_do_not_fit_together(saved, rooms):
    """Arrays of another corpus inside a graph are found on load."""
    manifest = json.loads((saved / "manifest.json").read_text())
    short = np.zeros(5, dtype=np.int64)
    (saved / "bridge_offsets.npy").unlink()
    arrays = manifest["arrays"]
    arrays["bridge_offsets"] = _arrays._write_array(saved / "bridge_offsets.npy", short)
    rewrite_manifest(saved, arrays=arrays)
    with pytest.raises(StorageError, match="bridges and latents differ in size"):
        metro.load(saved)
    short = np.zeros((5, 4))
    arrays["neighbour_gap"] = _arrays._write_array(saved / "neighbour_gap.npy", short)
    rewrite_manifest(saved, arrays=arrays)
    with pytest.raises(StorageError, match="table and latents differ in size"):
        metro.load(saved)
    del arrays["z"]
    rewrite_manifest(saved, arrays=arrays)
    with pytest.raises(StorageError, match="does not hold together"):
        metro.load(saved)


def test_not_enough_disk(monkeypatch, tmp_path, rooms_graph):
    """Said before anything is written."""
    monkeypatch.setattr(
        _arrays.shutil, "disk_usage", lambda _: type("Usage", (), {"free": 1000})
    )
    with pytest.raises(StorageError, match=r"^Not enough disk for .*Nothing was"):
        metro.save(rooms_graph, tmp_path / "a.metro")
    assert list(tmp_path.iterdir()) == []


def test_a_failing_write_leaves_nothing(monkeypatch, tmp_path, rooms_graph):
    """A disk that fills up during the write: one error, no remains."""

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_arrays.os, "fsync", full)
    with pytest.raises(StorageError, match="was not written: .*No space left"):
        metro.save(rooms_graph, tmp_path / "a.metro")
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_saved(tmp_path, rooms):
    """Other objects, and provenance that is no JSON."""
    with pytest.raises(StorageError, match="^save takes a FrameGraph or Latents, got"):
        metro.save(rooms.z, tmp_path / "a.metro")
    odd = metro.Latents(rooms.z, rooms.episode_offsets, {"encoder": object()})
    with pytest.raises(StorageError, match="Provenance must be plain JSON values"):
        metro.save(odd, tmp_path / "a.latents")
    assert list(tmp_path.iterdir()) == []


def test_what_is_not_there(tmp_path):
    """A wrong path is one sentence."""
    with pytest.raises(StorageError, match=r"nothing\.metro does not exist\.$"):
        metro.load(tmp_path / "nothing.metro")


WRITER = """
import sys, numpy as np, metro
path, rows = sys.argv[1], int(sys.argv[2])
small, large = (
    metro.Latents(np.full((n, 64), n, dtype=np.float32), [0, n]) for n in (rows, rows+1)
)
print("ready", flush=True)
while True:
    metro.save(small, path, force=True)
    metro.save(large, path, force=True)
"""


def test_kill_at_any_moment_leaves_a_whole_artefact(tmp_path):
    """A writer killed again and again: what is on disk is one version or the other."""
    path, rows = tmp_path / "a.latents", 3000
    metro.save(metro.Latents(np.full((rows, 64), rows), [0, rows]), path)
    rng = np.random.default_rng(0)
    for _ in range(25):
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path), str(rows)],
            stdout=subprocess.PIPE,
        )
        writer.stdout.readline()
        time.sleep(rng.uniform(0, 0.05))
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        latents = metro.load(path, verify=True)
        assert latents.num_frames in (rows, rows + 1)
        assert (latents.z == latents.num_frames).all()
    metro.save(latents, path, force=True)
    assert [file.name for file in tmp_path.iterdir()] == ["a.latents"]


def test_leftovers_of_dead_writers_are_removed(saved, tmp_path, rooms_graph):
    """Of this machine's dead writers; never those of a writer at work."""
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    host = socket.gethostname()
    for pid in (dead.pid, os.getpid(), 1):
        (tmp_path / f".rooms.metro.{host}.{pid}.x").mkdir()
    (tmp_path / ".rooms.metro.elsewhere.1.x").mkdir()
    metro.save(rooms_graph, saved, force=True)
    kept = sorted(file.name for file in tmp_path.iterdir())
    assert kept == sorted(
        [
            "rooms.metro",
            ".rooms.metro.elsewhere.1.x",
            f".rooms.metro.{host}.{os.getpid()}.x",
            f".rooms.metro.{host}.1.x",
        ]
    )


def test_killed_between_the_two_renames(saved, tmp_path, rooms_graph):
    """The backup is read in place, and restored by the next writer."""
    backup = tmp_path / ".rooms.metro.replaced"
    saved.rename(backup)
    assert same_graph(metro.load(saved), rooms_graph)
    with pytest.raises(StorageError, match="exists already"):
        metro.save(rooms_graph, saved)
    assert saved.exists()
    assert not backup.exists()
