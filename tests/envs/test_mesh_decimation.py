"""Laws of `metro.envs.mesh_decimation`."""

import mujoco
import numpy as np
import pytest

from metro.envs import mesh_decimation as decimating


def grid(cells):
    """Return vertices and faces of a flat square of unit size, ``cells`` a side."""
    ticks = np.linspace(0, 1, cells + 1)
    vertices = np.array([(x, y, 0.0) for x in ticks for y in ticks])
    corner = np.arange((cells + 1) ** 2).reshape(cells + 1, cells + 1)
    a, b = corner[:-1, :-1].ravel(), corner[1:, :-1].ravel()
    c, d = corner[1:, 1:].ravel(), corner[:-1, 1:].ravel()
    return vertices, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)])


def area(vertices, faces):
    a, b, c = (vertices[faces[:, corner]] for corner in range(3))
    return np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2


def test_clustering_leaves_fewer_faces_of_nearly_the_same_area():
    """A square of 800 triangles keeps its shape with a tenth of them."""
    vertices, faces = grid(20)
    moved, corners, kept = decimating.cluster(vertices, faces, 0.2)
    assert len(corners) == len(kept) < len(faces) / 10
    assert area(moved, corners) == pytest.approx(1, rel=0.2)


def test_a_fine_grid_changes_nothing():
    """Where every vertex has a cell of its own, the mesh stays as it is."""
    vertices, faces = grid(5)
    moved, corners, kept = decimating.cluster(vertices, faces, 0.01)
    assert np.allclose(moved, vertices)
    assert np.array_equal(corners, faces)
    assert np.array_equal(kept, np.arange(len(faces)))


def test_kept_faces_have_three_corners_and_no_twin():
    """No face is a line, and no two have the same corners."""
    vertices = np.random.default_rng(0).uniform(0, 1, (300, 3))
    faces = np.random.default_rng(1).integers(0, 300, (500, 3))
    _, corners, kept = decimating.cluster(vertices, faces, 0.25)
    assert all(len(set(face)) == 3 for face in corners.tolist())
    assert len({frozenset(face) for face in corners.tolist()}) == len(corners)
    assert np.all(np.diff(kept) > 0)


def test_decimating_a_model_counts_what_is_left():
    """Faces are dropped from the model's meshes, and the rest is counted."""
    scene = """
    <mujoco>
      <asset><mesh name="blob" builtin="sphere" params="4"/></asset>
      <worldbody><geom type="mesh" mesh="blob"/></worldbody>
    </mujoco>
    """
    model = mujoco.MjModel.from_xml_string(scene)
    before = int(model.mesh_facenum.sum())
    names = []
    left = decimating.decimate(model, lambda name: names.append(name) or 0.4)
    assert names == ["blob"]
    assert 0 < left < before / 5
    assert left == model.mesh_facenum.sum()
