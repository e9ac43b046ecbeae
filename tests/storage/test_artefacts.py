"""Files: what comes back is what went in, or a clear error; never half of it."""

import json
import mmap
import re

import numpy as np
import pytest
from artefacts import rewrite_manifest, same_graph

import metro
from metro.errors import GraphError, StorageError
from metro.kernels import checks as _checks
from metro.storage import arrays as _arrays


def is_mapped(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap.mmap)


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


def test_newer_and_foreign_formats(saved):
    """A version that we do not read, and a kind that we do not know."""
    rewrite_manifest(saved, version=3, metro="9.0")
    message = (
        f"{saved} has metro-graph version 3; this metro reads 1 and 2. Install the "
        f"metro-wm that wrote it (9.0), or make it again: "
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
    with pytest.raises(StorageError, match=r"bridge_offsets .* = 1801, got \[5\]"):
        metro.load(saved)
    short = np.zeros((5, 4))
    arrays["neighbour_gap"] = _arrays._write_array(saved / "neighbour_gap.npy", short)
    rewrite_manifest(saved, arrays=arrays)
    with pytest.raises(StorageError, match=r"neighbour_gap .* = 1800, got \[5, 4\]"):
        metro.load(saved)
    del arrays["z"]
    rewrite_manifest(saved, arrays=arrays)
    with pytest.raises(StorageError, match="does not hold together"):
        metro.load(saved)


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


def replace_array(path, name, array):
    arrays = json.loads((path / "manifest.json").read_text())["arrays"]
    arrays[name] = _arrays._write_array(path / f"{name}.npy", array)
    rewrite_manifest(path, arrays=arrays)


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("bridge_offsets", lambda a: a + 1, "bridge_offsets must be [N + 1], from 0"),
        ("bridge_offsets", lambda a: a // 2, "bridge_offsets must be [N + 1], from 0"),
        ("bridge_cost", lambda a: a[:-1], "bridge_cost must have shape [B] with B ="),
        ("bridge_frame", lambda a: a.astype(float), "bridge_frame must be a 1-d array"),
        (
            "bridge_cost",
            lambda a: a[None],
            "bridge_cost must be a 1-d array of float64",
        ),
        ("z", lambda a: a.astype(float), "z must be a 2-d array of float32, got 2-d"),
        ("z", lambda a: a[0], "z must be a 2-d array of float32, got 1-d of <f4"),
        ("pricing_gaps", lambda a: a[::-1], "gaps must be finite, at least 0"),
    ],
)
def test_arrays_of_the_wrong_kind(saved, name, change, message):
    """Types, dimensions and ends of the offsets are checked on every load."""
    replace_array(saved, name, change(np.load(saved / f"{name}.npy")))
    with pytest.raises(StorageError, match=re.escape(message)):
        metro.load(saved)


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (lambda o, f: o.__setitem__(0, 1), "bridge_offsets must be [N + 1], from 0 to"),
        (lambda o, f: o.__setitem__(-1, 9), "bridge_offsets must be [N + 1], from 0"),
        (lambda o, f: o.__setitem__(7, 1 << 40), "bridge_offsets falls after 7"),
        (
            lambda o, f: f.__setitem__(5, 1800),
            "entry 5 of bridge_frame is 1800, not within",
        ),
        (
            lambda o, f: f.__setitem__(-1, -2),
            "of bridge_frame is -2, not within [0, 1799]",
        ),
    ],
)
@pytest.mark.parametrize("block", [3, 1 << 22])
def test_bridges_that_no_search_can_follow(
    monkeypatch, rooms_graph, harm, message, block
):
    """The full check that precedes the first search."""
    monkeypatch.setattr(_checks, "_CHECK_ENTRIES", block)
    offsets, frame = rooms_graph.bridge_offsets.copy(), rooms_graph.bridge_frame.copy()
    sizes = {"num_frames": 1800, "most": 8}
    cost = rooms_graph.bridge_cost
    _checks.check_bridges(offsets, frame, cost, **sizes)
    harm(offsets, frame)
    with pytest.raises(GraphError, match=re.escape(message)) as told:
        _checks.check_bridges(offsets, frame, cost, **sizes)
    assert "Load it with verify=True" in str(told.value)
