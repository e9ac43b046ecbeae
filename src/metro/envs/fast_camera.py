"""A camera for MuJoCo that leaves out what costs most and shows least.

No shadows, reflections, sky or multisampling; the picture is drawn twice as large and
averaged instead, which costs a software renderer less. One context and one buffer
serve all pictures. Geoms that nothing can be behind (a floor) may be drawn once and put
behind every later picture.
"""

from collections.abc import Sequence
from typing import Any

import cv2
import mujoco
import numpy as np

from metro.envs.resize import shrink
from metro.types import Image

_SUPERSAMPLING = 2
_MAX_GEOMS = 2000
_BACKDROP_GROUP = 5
_LEFT_OUT = ("SHADOW", "REFLECTION", "SKYBOX", "HAZE", "FOG")
_BLACK = (0, 0, 0)


class FastCamera:
    """One camera of a model, without shadow, reflection, sky or multisampling.

    A picture is a function of the state alone, whatever was drawn before.

    Args:
        model: ``mujoco.MjModel``; only how it is drawn is changed, not how it moves.
        camera: Number or name of one of its cameras.
        image_size: Pixels along a side of a picture.
        backdrop: Numbers of the geoms that nothing can be behind, drawn once.
    """

    def __init__(
        self,
        model: Any,
        camera: int | str,
        *,
        image_size: int,
        backdrop: Sequence[int] = (),
    ) -> None:
        size = image_size * _SUPERSAMPLING
        _make_cheap(model, size)
        model.geom_group[list(backdrop)] = _BACKDROP_GROUP
        self._model, self._image_size = model, image_size
        self._camera = _fixed_camera(model, camera)
        self._window = mujoco.MjrRect(0, 0, size, size)
        self._buffer = np.empty((size, size, 3), np.uint8)
        self._gl: Any = mujoco.GLContext(size, size)
        self._gl.make_current()
        self._context = _offscreen_context(model)
        self._scene = _plain_scene(model)
        self._option = mujoco.MjvOption()
        self._backdrop = self._draw_backdrop() if len(backdrop) else None

    def draw(self, state: Any) -> Image:
        """Return the picture of ``state`` (``mujoco.MjData``), owned by the caller."""
        self._render(state)
        if self._backdrop is not None:
            # Pixels that nothing was drawn on are black.
            nothing_drawn = cv2.inRange(self._buffer, _BLACK, _BLACK)
            cv2.copyTo(self._backdrop, nothing_drawn, self._buffer)
        small = shrink(self._buffer, (self._image_size, self._image_size))
        return np.ascontiguousarray(small[::-1])  # OpenGL counts rows from below

    def close(self) -> None:
        """Give the drawing context back."""
        if self._gl is not None:
            self._gl.make_current()
            self._context.free()
            self._gl.free()
            self._gl = None

    def _draw_backdrop(self) -> Image:
        """Return the canvas with nothing but the backdrop, upside down."""
        state = mujoco.MjData(self._model)
        mujoco.mj_forward(self._model, state)
        usual = self._option.geomgroup.copy()
        self._option.geomgroup[:] = 0
        self._option.geomgroup[_BACKDROP_GROUP] = 1
        self._render(state)
        self._option.geomgroup[:] = usual
        self._option.geomgroup[_BACKDROP_GROUP] = 0
        return self._buffer.copy()

    def _render(self, state: Any) -> None:
        """Draw the larger picture into the buffer."""
        # Another camera may have drawn since.
        self._gl.make_current()
        mujoco.mjv_updateScene(
            self._model,
            state,
            self._option,
            None,
            self._camera,
            mujoco.mjtCatBit.mjCAT_ALL,
            self._scene,
        )
        mujoco.mjr_render(self._window, self._scene, self._context)
        mujoco.mjr_readPixels(self._buffer, None, self._window, self._context)


def _make_cheap(model: Any, size: int) -> None:
    """Ask the model for a canvas of this size, without shadow map or multisampling."""
    model.vis.global_.offwidth = size
    model.vis.global_.offheight = size
    model.vis.quality.offsamples = 0
    model.vis.quality.shadowsize = 0


def _fixed_camera(model: Any, camera: int | str) -> Any:
    fixed = mujoco.MjvCamera()
    fixed.type = mujoco.mjtCamera.mjCAMERA_FIXED
    fixed.fixedcamid = model.camera(camera).id
    return fixed


def _offscreen_context(model: Any) -> Any:
    context = mujoco.MjrContext(model, mujoco.mjtFontScale.mjFONTSCALE_100.value)
    mujoco.mjr_setBuffer(mujoco.mjtFramebuffer.mjFB_OFFSCREEN.value, context)
    return context


def _plain_scene(model: Any) -> Any:
    scene = mujoco.MjvScene(model, maxgeom=_MAX_GEOMS)
    for name in _LEFT_OUT:
        scene.flags[getattr(mujoco.mjtRndFlag, f"mjRND_{name}")] = 0
    return scene
