"""Which arrays a file holds: their names, types, sizes, and what the index may hold."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.errors import StorageError
from metro.files import has_type
from metro.kernels.checks import check_within

LAYOUT: Mapping[str, tuple[str, tuple[str | int, ...]]] = {
    "z": ("float32", ("N", "D")),
    "episode_offsets": ("int64", ("M + 1",)),
    "neighbour_frame": ("int32", ("N", "K")),
    "neighbour_gap": ("float64", ("N", "K")),
    "pricing_gaps": ("float64", ("H",)),
    "bridge_offsets": ("int64", ("N + 1",)),
    "bridge_frame": ("int32", ("B",)),
    "bridge_cost": ("float64", ("B",)),
    "bridge_price": ("float64", ("B",)),
    "neighbour_reach": ("float32", ("N", "K")),
    "cell_frame": ("int32", ("N",)),
    "cell_offsets": ("int64", ("C + 1",)),
    "cell_centres": ("float32", ("C", "W")),
    "cell_bases": ("float32", ("C", 8, "W")),
    "cell_coordinates": ("float32", ("C", 9, "R")),
    "cell_boxes": ("float32", (2, 9, "C")),
    "cell_reach": ("float32", ("N",)),
    "cell_radius": ("float32", ("C",)),
}
"""Type and shape of every array that metro writes; equal letters are equal sizes."""

CELL = "cell_"
"""How the names of the index's arrays start; a small corpus has none."""

REACH = ("bridge_price", "neighbour_reach")
"""Arrays of graphs that are priced by reach; the others have none of them."""

LARGE = frozenset({"z", "cell_coordinates"})
"""Arrays that are most of a file; digested at every load while they are small."""

SMALL_BYTES = 256 << 20
"""Up to this size a digest takes a fifth of a second. Decision: D35."""

_MOST_FRAMES = 2**31 - 1
"""Frames are numbered in 32 bits."""

_ALWAYS_ALLOWED = 65_536
"""H and k may exceed the frames of a small corpus, but not by any amount."""


_LARGEST = float(np.finfo(np.float32).max)
"""Whatever is within plus and minus this is finite."""


def check_layout(
    found: Mapping[str, tuple[str, Sequence[int]]], names: Iterable[str]
) -> None:
    """Raise `StorageError` unless all arrays are there and fit together.

    Looks at types and shapes only, so that nothing is read, and no memory asked for,
    on behalf of a file that makes no sense.

    Args:
        found: The type (with its byte order, such as ``<f4``) and shape of each array.
        names: The arrays that must be there.
    """
    has_cells = any(name.startswith(CELL) for name in found)
    cells = [name for name in LAYOUT if name.startswith(CELL) and has_cells]
    sizes: dict[str, int] = {}
    reach = REACH if any(name in found for name in REACH) else ()
    for name in dict.fromkeys([*names, *cells, *reach, *found]):
        if name not in LAYOUT:
            raise StorageError(f"{name} is no array that this metro knows")
        if name not in found:
            raise StorageError(f"{name} is missing")
        dtype, shape = LAYOUT[name]
        given, given_shape = found[name]
        # With the byte order, which the name of a type leaves out.
        if given != np.dtype(dtype).str or len(given_shape) != len(shape):
            raise StorageError(
                f"{name} must be a {len(shape)}-d array of {dtype}, "
                f"got {len(given_shape)}-d of {given}"
            )
        for wanted, size in zip(shape, given_shape, strict=True):
            expected = _wanted_size(sizes, wanted, size)
            if size != expected:
                raise StorageError(
                    f"{name} must have shape [{', '.join(map(str, shape))}] with "
                    f"{wanted} = {expected}, got {list(given_shape)}"
                )


def _wanted_size(sizes: dict[str, int], wanted: str | int, size: int) -> int:
    """Return what a size must be; a letter seen for the first time is fixed by it."""
    if isinstance(wanted, int):
        return wanted
    letter, _, more = wanted.partition(" + ")
    extra = int(more or 0)
    if letter not in sizes:
        _check_size(sizes, letter, size - extra)
        sizes[letter] = size - extra
        if letter == "D":
            sizes["W"] = size + -size % 8
    return sizes[letter] + extra


def _check_size(sizes: dict[str, int], letter: str, size: int) -> None:
    frames = sizes.get("N", _MOST_FRAMES)
    # Frames, episodes, cells and the frames of a cell are never more than frames.
    most = {
        "B": 2 * frames * sizes.get("K", 0),
        "D": _MOST_FRAMES,
        "H": max(frames, _ALWAYS_ALLOWED),
        "K": max(frames, _ALWAYS_ALLOWED),
    }.get(letter, frames)
    least = 0 if letter == "B" else 1
    if not least <= size <= most:
        raise StorageError(f"{letter} must be within [{least}, {most}], got {size}")


def check_parameters(parameters: Any, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Raise `StorageError` unless the parameters have types and fit the arrays."""
    wanted: dict[str, tuple[Any, float, float]] = {"latents_digest": (str, 0, 0)}
    if "pricing_gaps" in arrays:
        budget, most = len(arrays["pricing_gaps"]), arrays["neighbour_frame"].shape[1]
        has_reach = REACH[0] in arrays
        # Priced by reach, a frame keeps other numbers of neighbours than the table has.
        least, most = (1, _MOST_FRAMES) if has_reach else (most, most)
        wanted["num_neighbours"] = (int, least, most)
        wanted["waypoint_budget"] = (int, budget, budget)
        wanted["quantile"] = (float, 0, 1)
        if has_reach:
            wanted["reach"] = (Mapping[str, float], 0, 0)
    if not isinstance(parameters, dict):
        raise StorageError("it has no parameters")
    for name, (kind, least, most) in wanted.items():
        value = parameters.get(name)
        if not has_type(value, kind):
            raise StorageError(
                f"{name} must be of type {kind.__name__}, got {value!r:.40}"
            )
        if isinstance(value, int | float) and not least <= value <= most:
            raise StorageError(
                f"{name} must be within [{least}, {most}], got {value!r:.40}"
            )


def check_cells(cells: Mapping[str, NDArray[Any]], num_frames: int) -> None:
    """Raise `GraphError` unless cells hold every frame once, in sizes that fit.

    Kernels follow these numbers without checking them. Shapes are checked before.
    """
    frame, offsets = cells["frame"], cells["offsets"]
    check_within("cell_offsets", offsets, 0, num_frames)
    sizes = np.diff(offsets)
    if offsets[0] != 0 or offsets[-1] != num_frames:
        raise StorageError(f"cell_offsets must run from 0 to {num_frames}")
    room = cells["coordinates"].shape[-1]
    if sizes.min() < 1 or sizes.max() > room:
        raise StorageError(f"every cell must hold 1 to {room} frames")
    check_within("cell_frame", frame, 0, num_frames - 1)
    is_held = np.zeros(num_frames, dtype=np.bool_)
    is_held[frame] = True
    if not is_held.all():
        raise StorageError("cell_frame must hold every frame once")
    for name in ("centres", "bases", "boxes", "reach", "radius"):
        check_within(CELL + name, cells[name], -_LARGEST, _LARGEST)
