"""What a graph is made of, and how much of it can be reached."""

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.core.gap_saturation import Saturation, measure_saturation
from metro.core.graph import FrameGraph

_SOURCES = 256
"""Frames that the share of joined pairs is estimated from, in a larger graph."""


@dataclass(frozen=True)
class Inspection:
    """What one graph is made of. Sizes are in frames unless named otherwise.

    Attributes:
        num_components: Number of parts that no edge joins, directions ignored.
        largest_component: Share of all frames in the largest such part.
        num_strong_components: Number of parts in which every frame reaches every other.
        largest_strong_component: Share of all frames in the largest such part.
        joined_pairs: Share of ordered frame pairs (u, v), u ≠ v, joined by a route.
        joined_pairs_sources: Number of start frames that this share was counted from.
        memory: Bytes of every array.
    """

    num_frames: int
    num_episodes: int
    dim: int
    shortest_episode: int
    longest_episode: int
    num_neighbours: int
    waypoint_budget: int
    quantile: float
    radius: float
    num_bridges: int
    bridges_per_frame: float
    frames_without_bridge: float
    num_components: int
    largest_component: float
    num_strong_components: int
    largest_strong_component: float
    joined_pairs: float
    joined_pairs_sources: int
    pricing_gaps: list[float]
    saturation: list[Saturation]
    memory: dict[str, int]
    provenance: dict[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return all attributes as plain JSON values."""
        return asdict(self)


def inspect_graph(graph: FrameGraph, *, seed: int = 0) -> Inspection:
    """Return what a graph is made of.

    Args:
        graph: The graph.
        seed: Random seed for the sampled values: joined pairs and saturation.
    """
    latents, degree = graph.latents, np.diff(graph.bridge_offsets)
    parts, part_of = _components(graph, "weak")
    strong_parts, strong_part_of = _components(graph, "strong")
    joined, sources = _joined_pairs(graph, strong_part_of, seed)
    return Inspection(
        num_frames=graph.num_frames,
        num_episodes=latents.num_episodes,
        dim=latents.dim,
        shortest_episode=int(latents.episode_lengths.min()),
        longest_episode=int(latents.episode_lengths.max()),
        num_neighbours=graph.num_neighbours,
        waypoint_budget=graph.waypoint_budget,
        quantile=graph.pricing.quantile,
        radius=graph.pricing.radius,
        num_bridges=graph.num_bridges,
        bridges_per_frame=float(degree.mean()),
        frames_without_bridge=float((degree == 0).mean()),
        num_components=parts,
        largest_component=_largest_share(part_of),
        num_strong_components=strong_parts,
        largest_strong_component=_largest_share(strong_part_of),
        joined_pairs=joined,
        joined_pairs_sources=sources,
        pricing_gaps=graph.pricing.gaps.tolist(),
        saturation=measure_saturation(latents, seed=seed),
        memory=_memory(graph),
        provenance=dict(latents.provenance),
    )


def _components(graph: FrameGraph, connection: str) -> tuple[int, NDArray[np.int32]]:
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    u = np.repeat(np.arange(graph.num_frames), np.diff(graph.bridge_offsets))
    # All frames but the last of every episode have a temporal edge.
    leading = np.setdiff1d(
        np.arange(graph.num_frames),
        graph.latents.episode_offsets[1:] - 1,
        assume_unique=True,
    )
    rows = np.concatenate([leading, u])
    columns = np.concatenate([leading + 1, graph.bridge_frame])
    shape = (graph.num_frames, graph.num_frames)
    edges = csr_array((np.ones(len(rows), dtype=np.int8), (rows, columns)), shape)
    count, part_of = connected_components(edges, connection=connection)
    return int(count), np.asarray(part_of)


def _largest_share(part_of: NDArray[np.int32]) -> float:
    return float(np.bincount(part_of).max() / len(part_of))


def _joined_pairs(
    graph: FrameGraph, strong_part_of: NDArray[np.int32], seed: int
) -> tuple[float, int]:
    """Return the share of frame pairs joined by a route, and from how many starts.

    Frames of one strong component reach the same frames: one search serves them all.
    """
    starts = np.arange(graph.num_frames)
    # All starts of a large graph would take hours; 256 give a
    # standard error of at most 0.03.
    if graph.num_frames > _SOURCES:
        rng = np.random.default_rng(seed)
        starts = rng.choice(graph.num_frames, _SOURCES, replace=False)
    reached: dict[int, int] = {}
    for start in starts:
        part = int(strong_part_of[start])
        if part not in reached:
            found = graph.reachable_from(np.array([start]))
            reached[part] = int(found.sum()) - 1
    counts = [reached[int(strong_part_of[start])] for start in starts]
    return float(np.mean(counts) / (graph.num_frames - 1)), len(starts)


def _memory(graph: FrameGraph) -> dict[str, int]:
    return {
        "latents": graph.latents.z.nbytes,
        "neighbour table": graph.table.frame.nbytes + graph.table.gap.nbytes,
        "bridges": (
            graph.bridge_offsets.nbytes
            + graph.bridge_frame.nbytes
            + graph.bridge_cost.nbytes
        ),
    }
