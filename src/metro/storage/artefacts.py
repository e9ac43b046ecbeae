"""Artefacts on disk: a directory of ``.npy`` arrays and a ``manifest.json``.

Written whole or not at all, opened by memory map, never pickled. The layout is
described in ``docs/formats.md``.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from metro.core.cell_index import CellIndex
from metro.core.graph import FrameGraph
from metro.core.latents import Latents
from metro.core.neighbours import NeighbourTable
from metro.core.pricing import PricingCurve
from metro.core.reach import ReachPricing
from metro.errors import MetroError, StorageError
from metro.storage.arrays import read_directory, write_directory
from metro.storage.layout import (
    CELL,
    LARGE,
    LAYOUT,
    REACH,
    SMALL_BYTES,
    check_cells,
    check_layout,
    check_parameters,
)

NamedArrays = Mapping[str, NDArray[Any]]

REACH_VERSION = 2
"""Version of graphs that are priced by reach; all others are still version 1."""


@dataclass(frozen=True)
class _Kind:
    """How one type becomes arrays and parameters, and comes back."""

    name: str
    versions: tuple[int, ...]
    type: type
    arrays: Iterable[str]
    to_arrays: Callable[[Any], tuple[NamedArrays, Mapping[str, Any]]]
    from_arrays: Callable[[NamedArrays, Mapping[str, Any], Mapping[str, Any]], Any]
    rebuild: str


def save(
    artefact: FrameGraph | Latents, path: str | Path, *, force: bool = False
) -> None:
    """Write a graph (``*.metro``) or latents (``*.latents``) to the directory ``path``.

    A kill at any moment leaves either the old artefact or the new one.

    Args:
        artefact: What to write.
        path: The directory to create.
        force: Replace an artefact that is already there; never anything else.
    """
    for kind in _KINDS.values():
        if isinstance(artefact, kind.type):
            arrays, contents = kind.to_arrays(artefact)
            found = {name: (a.dtype.str, a.shape) for name, a in arrays.items()}
            check_layout(found, kind.arrays)
            # What an earlier metro can read says so: only graphs with reach are newer.
            version = REACH_VERSION if REACH[0] in arrays else 1
            manifest = {"format": kind.name, "version": version, **contents}
            write_directory(Path(path), manifest, arrays, force=force)
            return
    raise StorageError(
        f"save takes a FrameGraph or Latents, got {type(artefact).__name__}."
    )


def load(path: str | Path, *, verify: bool = False) -> Any:
    """Return the graph or the latents stored at ``path``, memory-mapped.

    Args:
        path: A directory written by `save`.
        verify: Check also the digests of the rows and of the cells' coordinates if they
            are large; all other digests are always checked. Decision: D35.
    """
    path = Path(path)

    def check(manifest: Mapping[str, Any]) -> None:
        _kind_of(path, manifest)

    def check_arrays(manifest: Mapping[str, Any]) -> None:
        kind, arrays = _kind_of(path, manifest), manifest["arrays"]
        with _must_hold_together(path, kind):
            found = {name: (a["dtype"], a["shape"]) for name, a in arrays.items()}
            check_layout(found, kind.arrays)

    undigested = {} if verify else dict.fromkeys(LARGE, SMALL_BYTES)
    manifest, arrays = read_directory(path, check, check_arrays, undigested=undigested)
    kind = _kind_of(path, manifest)
    # Digests prove that a file is as it was written, not that it makes sense.
    with _must_hold_together(path, kind):
        check_parameters(manifest["parameters"], arrays)
        return kind.from_arrays(arrays, manifest["parameters"], manifest["provenance"])


@contextmanager
def _must_hold_together(path: Path, kind: _Kind) -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, ValueError, OverflowError, MetroError) as error:
        raise StorageError(
            f"{path} does not hold together ({error}). Make it again: {kind.rebuild}"
        ) from error


def load_graph(path: str | Path, *, verify: bool = False) -> FrameGraph:
    """Return the graph stored at ``path``; latents are refused, with what to do."""
    artefact = load(path, verify=verify)
    if not isinstance(artefact, FrameGraph):
        raise StorageError(
            f"{path} holds latents, not a graph. Make one: "
            f"metro build {path} -o {Path(path).with_suffix('.metro')}"
        )
    return artefact


def _kind_of(path: Path, manifest: Mapping[str, Any]) -> _Kind:
    kind = _KINDS.get(str(manifest.get("format")))
    if kind is None:
        raise StorageError(
            f"{path} holds {manifest.get('format')!r}, which this metro does not know. "
            f"It reads {', '.join(sorted(_KINDS))}."
        )
    if manifest.get("version") not in kind.versions:
        raise StorageError(
            f"{path} has {kind.name} version {manifest.get('version')}; this metro "
            f"reads {' and '.join(map(str, kind.versions))}. Install the metro-wm that "
            f"wrote it ({manifest.get('metro')}), or make it again: {kind.rebuild}"
        )
    return kind


def _latents_to_arrays(latents: Latents) -> tuple[NamedArrays, Mapping[str, Any]]:
    arrays: NamedArrays = {"z": latents.z, "episode_offsets": latents.episode_offsets}
    parameters = {"latents_digest": latents.digest}
    return arrays, {"parameters": parameters, "provenance": dict(latents.provenance)}


def _latents_from_arrays(
    arrays: NamedArrays, parameters: Mapping[str, Any], provenance: Mapping[str, Any]
) -> Latents:
    z, offsets = arrays["z"], arrays["episode_offsets"]
    digest = parameters["latents_digest"]
    return Latents.trusted(z, offsets, provenance=provenance, digest=digest)


def _graph_to_arrays(graph: FrameGraph) -> tuple[NamedArrays, Mapping[str, Any]]:
    arrays, contents = _latents_to_arrays(graph.latents)
    parameters = {
        **contents["parameters"],
        "num_neighbours": graph.num_neighbours,
        "waypoint_budget": graph.waypoint_budget,
        "quantile": graph.pricing.quantile,
    }
    everything: NamedArrays = {
        **arrays,
        "neighbour_frame": graph.table.frame,
        "neighbour_gap": graph.table.gap,
        "pricing_gaps": graph.pricing.gaps,
        "bridge_offsets": graph.bridge_offsets,
        "bridge_frame": graph.bridge_frame,
        "bridge_cost": graph.bridge_cost,
    }
    if graph.reach is not None:
        parameters["reach"] = asdict(graph.reach)
        everything = {**everything, **_reach_to_arrays(graph)}
    return {**everything, **_cells_to_arrays(graph)}, {
        **contents,
        "parameters": parameters,
    }


def _reach_to_arrays(graph: FrameGraph) -> NamedArrays:
    """Return what only graphs that are priced by reach have."""
    found = {"bridge_price": graph.bridge_price, "neighbour_reach": graph.table.reach}
    return {name: array for name, array in found.items() if array is not None}


def _cells_to_arrays(graph: FrameGraph) -> NamedArrays:
    """Return the arrays of the index, so that a loaded graph need not make it again."""
    # Small graphs are scanned whole and have no cells.
    if not isinstance(graph.index, CellIndex):
        return {}
    return {CELL + name: array for name, array in graph.index.cells._asdict().items()}


def _graph_from_arrays(
    arrays: NamedArrays, parameters: Mapping[str, Any], provenance: Mapping[str, Any]
) -> FrameGraph:
    latents = _latents_from_arrays(arrays, parameters, provenance)
    cells = {n.removeprefix(CELL): a for n, a in arrays.items() if n.startswith(CELL)}
    if cells:
        check_cells(cells, latents.num_frames)
    table = NeighbourTable(
        arrays["neighbour_frame"],
        arrays["neighbour_gap"],
        latents.digest,
        CellIndex(latents, cells) if cells else None,
        arrays.get("neighbour_reach"),
    )
    bridges = (arrays["bridge_offsets"], arrays["bridge_frame"], arrays["bridge_cost"])
    pricing = PricingCurve(arrays["pricing_gaps"], parameters["quantile"])
    if "bridge_price" not in arrays:
        return FrameGraph(latents, table, pricing, *bridges)
    return FrameGraph(
        latents,
        table,
        pricing,
        *bridges,
        arrays["bridge_price"],
        ReachPricing(**parameters["reach"]),
        parameters["num_neighbours"],
    )


_KINDS = {
    kind.name: kind
    for kind in (
        _Kind(
            name="metro-latents",
            versions=(1,),
            type=Latents,
            arrays=("z", "episode_offsets"),
            to_arrays=_latents_to_arrays,
            from_arrays=_latents_from_arrays,
            rebuild="encode the corpus again",
        ),
        _Kind(
            name="metro-graph",
            versions=(1, REACH_VERSION),
            type=FrameGraph,
            arrays=[n for n in LAYOUT if not n.startswith(CELL) and n not in REACH],
            to_arrays=_graph_to_arrays,
            from_arrays=_graph_from_arrays,
            rebuild="metro build LATENTS -o GRAPH.metro --force",
        ),
    )
}
