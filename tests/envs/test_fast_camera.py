"""The fast camera shows what is there, and coarse meshes keep their shape."""

import mujoco
import numpy as np
import pytest

from metro.envs import fast_camera

SCENE = """
<mujoco>
  <worldbody>
    <light pos="0 0 3"/>
    <camera name="eye" pos="0 -1.5 1.5" xyaxes="1 0 0 0 0.7 0.7"/>
    <geom name="floor" type="plane" size="2 2 0.1" rgba="0.2 0.4 0.2 1"/>
    <body name="ball">
      <joint type="slide" axis="1 0 0"/>
      <geom type="sphere" pos="0 0 0.3" size="0.2" rgba="0.9 0.1 0.1 1"/>
    </body>
  </worldbody>
</mujoco>
"""


@pytest.fixture
def make_camera():
    """Return a function that makes a camera; all are closed afterwards."""
    made = []

    def make(backdrop=(), image_size=32):
        model = mujoco.MjModel.from_xml_string(SCENE)
        made.append(
            fast_camera.FastCamera(
                model, "eye", image_size=image_size, backdrop=backdrop
            )
        )
        return made[-1], model

    yield make
    for camera in made:
        camera.close()


def state_at(model, x):
    state = mujoco.MjData(model)
    state.qpos[:] = x
    mujoco.mj_forward(model, state)
    return state


def test_a_picture_has_the_size_asked_for(make_camera):
    """A picture is square, three bytes a pixel, in one piece."""
    camera, model = make_camera(image_size=48)
    picture = camera.draw(state_at(model, 0.0))
    assert picture.shape == (48, 48, 3)
    assert picture.dtype == np.uint8
    assert picture.flags.c_contiguous


def test_the_ball_is_where_it_is(make_camera):
    """The red ball is drawn on its own side, upright, red first."""
    camera, model = make_camera()
    left = camera.draw(state_at(model, -0.5))
    rows, columns = np.nonzero(left[..., 0] > left[..., 1] + 60)
    assert columns.mean() < 12
    assert 8 < rows.mean() < 24


def test_a_picture_depends_on_the_state_alone(make_camera):
    """Drawing something else between does not matter, nor does it change a picture."""
    camera, model = make_camera(backdrop=[0])
    first = camera.draw(state_at(model, 0.2))
    kept = first.copy()
    other = camera.draw(state_at(model, -0.4))
    assert np.array_equal(first, kept)
    assert not np.array_equal(first, other)
    assert np.array_equal(camera.draw(state_at(model, 0.2)), first)


def test_the_backdrop_is_as_if_it_were_drawn(make_camera):
    """With the floor put behind, a picture is what it is with the floor drawn."""
    whole, model = make_camera()
    composed, _ = make_camera(backdrop=[0])
    state = state_at(model, 0.1)
    difference = whole.draw(state).astype(int) - composed.draw(state)
    assert np.abs(difference).mean() < 0.1


def test_two_cameras_do_not_disturb_each_other(make_camera):
    """Each keeps drawing into its own picture."""
    one, model = make_camera()
    first = one.draw(state_at(model, 0.0))
    other, _ = make_camera(image_size=64)
    other.draw(state_at(model, 0.3))
    assert np.array_equal(one.draw(state_at(model, 0.0)), first)


def test_closing_twice_is_harmless(make_camera):
    """The second time there is nothing left to give back."""
    camera, _ = make_camera()
    camera.close()
    camera.close()
