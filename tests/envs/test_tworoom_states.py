"""Places in TwoRoom: inside the border, beside the wall, or in the door."""

import numpy as np
import pytest

from metro.benchmark import load_benchmark
from metro.data.corpus import open_corpus
from metro.envs.state_spaces import OpenAdapter
from metro.errors import WorldError


@pytest.fixture(scope="module")
def adapter():
    """States of TwoRoom, drawn with 32 pixels along a side."""
    opened = OpenAdapter(load_benchmark("tworoom"), 32, "stock")
    yield opened
    opened.close()


def places(adapter, offset):
    """Return places at every height, that far from the centre of the wall."""
    rooms, axis = adapter.world.env, adapter.stage._axis
    space = adapter.stage.space
    found = np.tile(np.arange(space.low[0], space.high[0])[:, None], 2)
    found[:, axis] = rooms.WALL_CENTER + offset
    return found


@pytest.mark.parametrize("offset", [-1.0, 1.0])
def test_a_place_in_the_wall_moves_to_its_own_side(adapter, offset):
    """What is in the wall is put beside it, on the side where it was nearer."""
    given = places(adapter, offset)
    moved, possible = adapter.stage.space.admit(given)
    axis, gap = adapter.stage._axis, adapter.stage._gap
    across = moved[:, axis] - adapter.world.env.WALL_CENTER
    assert possible.all()
    assert set(across.tolist()) == {offset, offset * gap}


def test_only_the_distance_to_the_wall_changes(adapter):
    """Along the wall a place stays where it was."""
    given, axis = places(adapter, 0.5), adapter.stage._axis
    moved = adapter.stage.space.admit(given)[0]
    assert np.array_equal(moved[:, 1 - axis], given[:, 1 - axis])


def test_places_clear_of_the_wall_stay(adapter):
    """At the agent's radius from the wall nothing is moved."""
    given = places(adapter, adapter.stage._gap)
    assert np.array_equal(adapter.stage.space.admit(given)[0], given)


def test_a_place_in_the_wall_cannot_be_asked_for(adapter):
    """A state that had to be moved is refused with its numbers."""
    given = places(adapter, 1.0)
    moved = adapter.stage.space.admit(given)[0]
    inside = given[(moved != given).any(axis=1)][0]
    with pytest.raises(WorldError) as told:
        adapter.stage.space.require(inside)
    assert str(told.value) == (
        "No such state can exist, something is inside something else: "
        f"{inside.tolist()}."
    )


def test_recorded_places_are_read_and_drawn_as_recorded(tworoom_folder):
    """A recorded place gives the recorded picture, at the size of the recording."""
    with open_corpus(tworoom_folder / "tworoom.h5") as corpus:
        pictures = corpus.frames(0)
        drawn = OpenAdapter(load_benchmark("tworoom"), pictures.shape[1], "stock")
        states = drawn.stage.read(corpus)
    assert states.dtype == np.float64
    assert np.array_equal(drawn.pictures(states[:3]), pictures[:3])
    drawn.close()
