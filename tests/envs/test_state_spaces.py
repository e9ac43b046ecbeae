"""States of every environment: they can exist, and pictures depend on them alone."""

import numpy as np
import pytest

from metro.benchmark import load_benchmark
from metro.envs.state_spaces import OpenAdapter


@pytest.fixture(scope="module", params=["tworoom", "reacher", "pusht", "cube"])
def adapter(request):
    """The states of every environment, drawn as its small models see them."""
    rendering = "stock" if request.param == "tworoom" else "fast"
    opened = OpenAdapter(load_benchmark(request.param), 64, rendering)
    yield opened
    opened.close()


def test_what_is_admitted_can_exist(adapter):
    """Random states are brought inside the limits, and stay as they are then."""
    space = adapter.stage.space
    rng = np.random.default_rng(0)
    wide = (space.high - space.low) * 1.5
    drawn = space.low + wide * (rng.random((60, space.size)) - 0.2)
    states, possible = space.admit(drawn)
    assert possible.any()
    for state in states[possible]:
        space.require(state)


def test_pictures_depend_on_the_state_alone(adapter):
    """Whatever was drawn before, the same state gives the same picture."""
    space = adapter.stage.space
    rng = np.random.default_rng(1)
    states, possible = space.admit(rng.uniform(space.low, space.high, (40, space.size)))
    first, second = states[possible][:2]
    alone = adapter.pictures(first[None])[0]
    pair = adapter.pictures(np.stack([second, first]))
    assert np.array_equal(pair[1], alone)
    assert not np.array_equal(pair[0], alone)


def test_sizes_of_states_are_the_papers(adapter):
    """PushT 5, Cube 11, TwoRoom 2, Reacher 2."""
    sizes = {"tworoom": 2, "reacher": 2, "pusht": 5, "cube": 11}
    assert adapter.stage.space.size == sizes[type(adapter.world).__name__.lower()]
