"""Arrays that a kernel could not follow are named before any of them is read."""

import re

import numpy as np
import pytest

from metro.errors import MetroError, StorageError
from metro.storage.layout import LAYOUT, check_cells, check_layout, check_parameters

SIZES = {"N": 6, "D": 5, "M": 2, "K": 4, "H": 3, "B": 8, "C": 2, "W": 8, "R": 4}


def size_of(wanted):
    letter, _, more = str(wanted).partition(" + ")
    return SIZES.get(letter) + int(more or 0) if letter in SIZES else int(letter)


def described(**changes):
    """Return types and shapes that fit together, with changes."""
    fitting = {
        name: (np.dtype(dtype).str, [size_of(wanted) for wanted in shape])
        for name, (dtype, shape) in LAYOUT.items()
    }
    return fitting | changes


def test_arrays_that_fit_together_pass():
    """A file with or without an index; a graph may have no bridges."""
    check_layout(described(), LAYOUT)
    none = {"bridge_frame": ("<i4", [0]), "bridge_cost": ("<f8", [0])}
    none["bridge_price"] = ("<f8", [0])
    check_layout(described(**none), LAYOUT)
    plain = {name: each for name, each in described().items() if "cell" not in name}
    check_layout(plain, plain)


@pytest.mark.parametrize(
    ("name", "found", "message"),
    [
        ("z", (">f4", [6, 5]), "z must be a 2-d array of float32, got 2-d of >f4"),
        ("z", ("<f4", [2**62, 0]), "N must be within [1, 2147483647], got 461168601"),
        ("z", ("<f4", [6, 0]), "D must be within [1, 2147483647], got 0"),
        ("episode_offsets", ("<i8", [8]), "M must be within [1, 6], got 7"),
        ("neighbour_frame", ("<i4", [6, 0]), "K must be within [1, 65536], got 0"),
        ("pricing_gaps", ("<f8", [50_000_000]), "H must be within [1, 65536], got 5"),
        ("bridge_frame", ("<i4", [49]), "B must be within [0, 48], got 49"),
        ("cell_frame", ("<i4", [7]), "cell_frame must have shape [N] with N = 6, got"),
        ("cell_centres", ("<f4", [2, 5]), "shape [C, W] with W = 8, got [2, 5]"),
        ("cell_bases", ("<f4", [2, 7, 8]), "shape [C, 8, W] with 8 = 8, got [2, 7"),
        ("cell_boxes", ("<f4", [2, 9, 1]), "shape [2, 9, C] with C = 2, got [2, 9, 1]"),
        ("cell_coordinates", ("<f4", [2, 9, 7]), "R must be within [1, 6], got 7"),
        ("more", ("<f4", [1]), "more is no array that this metro knows"),
    ],
)
def test_arrays_that_do_not_fit_are_named(name, found, message):
    """Byte order, dimensions, and every size against N, D, K, C, W and R."""
    with pytest.raises(StorageError, match=re.escape(message)):
        check_layout(described(**{name: found}), LAYOUT)


@pytest.mark.parametrize("name", LAYOUT)
def test_an_array_that_is_missing_is_named(name):
    """Also one of the index alone: all of its arrays are there, or none."""
    found = described()
    del found[name]
    needed = [each for each in LAYOUT if "cell" not in each]
    with pytest.raises(StorageError, match=f"^{name} is missing$"):
        check_layout(found, needed)


def cells(**changes):
    """Return two cells of three frames, with changes."""
    arrays = {
        "frame": np.array([1, 0, 2], np.int32),
        "offsets": np.array([0, 2, 3]),
        "centres": np.zeros((2, 8), np.float32),
        "bases": np.zeros((2, 8, 8), np.float32),
        "coordinates": np.zeros((2, 9, 2), np.float32),
        "boxes": np.zeros((2, 9, 2), np.float32),
        "reach": np.ones(3, np.float32),
        "radius": np.ones(2, np.float32),
    }
    return arrays | changes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"frame": np.array([1, 1, 2])}, "cell_frame must hold every frame once"),
        ({"frame": np.array([1, -3, 2])}, "entry 1 of cell_frame is -3, not within"),
        ({"frame": np.array([1, 3, 2])}, "entry 1 of cell_frame is 3, not within"),
        ({"offsets": np.array([0, 0, 3])}, "every cell must hold 1 to 2 frames"),
        ({"offsets": np.array([0, 1, 2])}, "cell_offsets must run from 0 to 3"),
        ({"offsets": np.array([0, 1 << 62, 3])}, "entry 1 of cell_offsets is 46"),
        ({"radius": np.array([1, np.nan])}, "entry 1 of cell_radius is nan"),
        ({"bases": np.full((2, 8, 8), np.inf)}, "entry 0 of cell_bases is inf"),
    ],
)
def test_cells_hold_every_frame_once(changes, message):
    """A frame that is missing, twice there or does not exist is damage."""
    check_cells(cells(), 3)
    with pytest.raises(MetroError, match=re.escape(message)):
        check_cells(cells(**changes), 3)


def parameters(**changes):
    """Return parameters of a graph priced by reach with H = 3, with changes."""
    fitting = {"latents_digest": "ab", "num_neighbours": 2, "waypoint_budget": 3}
    reach = {"noise": 1.0, "floor": 0.0, "rate": 2}
    return fitting | {"quantile": 0.25, "reach": reach} | changes


ARRAYS = {"pricing_gaps": np.ones(3), "neighbour_frame": np.zeros((6, 4), np.int32)}


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ([], "it has no parameters"),
        (parameters(latents_digest=None), "latents_digest must be of type str, got No"),
        (parameters(num_neighbours="4"), "num_neighbours must be of type int, got '4'"),
        (parameters(num_neighbours=-1), "num_neighbours must be within [1, 214748364"),
        (parameters(waypoint_budget=4), "waypoint_budget must be within [3, 3], got 4"),
        (parameters(quantile="inf"), "quantile must be of type float, got 'inf'"),
        (parameters(quantile=10**400), "quantile must be within [0, 1], got 1000"),
        (parameters(reach=[1.0]), "reach must be of type Mapping, got [1.0]"),
        (parameters(reach={"noise": "1"}), "reach must be of type Mapping, got {"),
    ],
)
def test_parameters_have_types_and_fit_the_arrays(changed, message):
    """Whatever JSON holds, a wrong value is named."""
    priced = ARRAYS | {"bridge_price": np.empty(0)}
    check_parameters(parameters(), priced)
    with pytest.raises(StorageError, match=re.escape(message)):
        check_parameters(changed, priced)


def test_priced_by_gap_every_neighbour_is_kept():
    """k is the width of the table; latents alone have only a digest."""
    check_parameters(parameters(num_neighbours=4), ARRAYS)
    check_parameters({"latents_digest": "ab"}, {})
    with pytest.raises(StorageError, match="num_neighbours must be within .4, 4., got"):
        check_parameters(parameters(), ARRAYS)
