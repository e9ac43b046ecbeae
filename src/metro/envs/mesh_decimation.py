"""Coarser meshes for drawing: vertices that share a cell of a grid become one.

At 64 pixels an arm of 185,000 triangles looks like one of 7,000, and is drawn ten times
as fast. Only what the camera shows is changed, so a decimated model must never be
stepped: its contacts and its masses would still be those of the full meshes, but
nothing here promises it.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray


def decimate(model: Any, cell_size: Callable[[str], float]) -> int:
    """Return how many faces are left after clustering all meshes of ``model``.

    Args:
        model: A compiled ``mujoco.MjModel``, changed in place; use a copy.
        cell_size: Edge of the grid, in metres, for the mesh of this name.
    """
    for number in range(model.nmesh):
        _decimate_mesh(model, number, cell_size(model.mesh(number).name))
    return int(model.mesh_facenum.sum())


def cluster(
    vertices: NDArray[np.float64], faces: NDArray[np.int32], cell: float
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.int64]]:
    """Return vertices moved to the mean of their cell, and the faces that remain.

    A face remains if its corners lie in three cells, and no earlier face has the same.

    Args:
        vertices: ``[V, 3]`` in metres.
        faces: ``[F, 3]`` vertex numbers.
        cell: Edge of the grid, in metres.

    Returns:
        ``[V, 3]`` vertices, ``[G, 3]`` vertex numbers of the faces that remain, and
        ``[G]`` which of the given faces they were, ascending.
    """
    cells = np.rint(vertices / cell).astype(np.int64)
    _, first, member = np.unique(cells, axis=0, return_index=True, return_inverse=True)
    member = member.ravel()
    counts = np.bincount(member)
    means = [np.bincount(member, axis) / counts for axis in vertices.T]
    corners = first[member[faces]]
    a, b, c = corners.T
    proper = np.flatnonzero((a != b) & (b != c) & (a != c))
    _, unique = np.unique(np.sort(corners[proper], axis=1), axis=0, return_index=True)
    # In the old order, so that normals and texture coordinates stay beside them.
    kept = np.sort(proper[unique])
    return np.stack(means, 1)[member], corners[kept], kept


def _decimate_mesh(model: Any, number: int, cell: float) -> None:
    vertex, face = model.mesh_vertadr[number], model.mesh_faceadr[number]
    vertices = slice(vertex, vertex + model.mesh_vertnum[number])
    faces = slice(face, face + model.mesh_facenum[number])
    moved, corners, kept = cluster(
        model.mesh_vert[vertices].astype(np.float64), model.mesh_face[faces], cell
    )
    left = slice(face, face + len(kept))
    model.mesh_vert[vertices] = moved
    model.mesh_facenormal[left] = model.mesh_facenormal[faces][kept]
    model.mesh_facetexcoord[left] = model.mesh_facetexcoord[faces][kept]
    model.mesh_face[left] = corners
    model.mesh_facenum[number] = len(kept)
