"""Files of storage version 1, written by metro-wm 0.1.0, give what they gave then."""

import json
from pathlib import Path

import numpy as np
import pytest

import metro
from metro.storage.artefacts import load_graph

GOLDEN = Path(__file__).parents[1] / "golden"
GRAPHS = ("rooms.metro", "rooms-cells.metro")


@pytest.fixture(scope="module")
def recorded():
    """What 0.1.0 found for four goals."""
    return json.loads((GOLDEN / "routes.json").read_text())


def test_old_latents_load():
    """Every digest is right, also that of the latents computed again."""
    latents = metro.load(GOLDEN / "rooms.latents", verify=True)
    again = metro.Latents(latents.z, latents.episode_offsets)
    assert again.digest == latents.digest
    assert (latents.num_frames, latents.dim, latents.num_episodes) == (480, 6, 12)
    assert latents.provenance["model"] == {"name": "golden", "digest": "0" * 64}


@pytest.mark.parametrize("name", GRAPHS)
def test_old_graphs_load(name):
    """With or without a cell index, they hold the latents of their file."""
    graph = load_graph(GOLDEN / name, verify=True)
    assert graph.latents.digest == metro.load(GOLDEN / "rooms.latents").digest
    assert (graph.waypoint_budget, graph.num_neighbours) == (8, 4)
    assert graph.pricing.quantile == 0.25


def test_graphs_built_today_are_those_of_then():
    """Table, pricing curve and bridges of the old latents, bit for bit."""
    latents = metro.load(GOLDEN / "rooms.latents")
    pricing = metro.PricingCurve.fit(latents, 8)
    built = metro.build_graph(latents, metro.find_neighbours(latents), pricing)
    old = load_graph(GOLDEN / "rooms.metro")
    for part in ("bridge_offsets", "bridge_frame", "bridge_cost"):
        np.testing.assert_array_equal(getattr(built, part), getattr(old, part))
    np.testing.assert_array_equal(built.table.frame, old.table.frame)
    np.testing.assert_array_equal(built.table.gap, old.table.gap)
    np.testing.assert_array_equal(built.pricing.gaps, old.pricing.gaps)


@pytest.mark.parametrize("name", GRAPHS)
def test_old_graphs_give_the_routes_of_then(name, recorded):
    """Cost-to-go and successors are the same numbers, not only close ones."""
    graph = load_graph(GOLDEN / name)
    for then in recorded:
        goal = graph.latents.z[then["goal"]]
        routes = metro.find_routes(graph, goal, held_out=then["held_out"])
        costs = [np.inf if cost is None else cost for cost in then["cost_to_go"]]
        assert routes.cost_to_go.tolist() == costs
        assert routes.successor.tolist() == then["successor"]


@pytest.mark.parametrize("name", GRAPHS)
def test_old_graphs_give_the_sub_goals_of_then(name, recorded):
    """All branches of Algorithm 1 are among them."""
    graph = load_graph(GOLDEN / name)
    kinds = set()
    for then in recorded:
        goal = graph.latents.z[then["goal"]]
        routes = metro.find_routes(graph, goal, held_out=then["held_out"])
        planner = metro.MetroPlanner(routes)
        for expected in then["sub_goals"]:
            found = planner(graph.latents.z[expected["observed"]])
            assert found.kind.value == expected["kind"]
            for part in ("frame", "entry", "hops", "spent", "cost_to_go"):
                assert getattr(found, part) == expected[part]
            kinds.add(found.kind)
    assert kinds == set(metro.SubGoalKind)


@pytest.mark.parametrize("name", ["rooms.latents", *GRAPHS])
def test_saving_an_old_artefact_changes_none_of_its_arrays(name, tmp_path):
    """What is written today has the arrays, names and versions of then."""
    metro.save(metro.load(GOLDEN / name), tmp_path / "again")
    for file in (GOLDEN / name).glob("*.npy"):
        assert (tmp_path / "again" / file.name).read_bytes() == file.read_bytes()
    old, new = (
        json.loads((folder / "manifest.json").read_text())
        for folder in (GOLDEN / name, tmp_path / "again")
    )
    assert old.keys() == new.keys()
    for entry in old.keys() - {"metro", "checksum"}:
        assert old[entry] == new[entry]
