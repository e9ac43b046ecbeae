"""PushT: stable-worldmodel's own physics, drawn by it or by OpenCV.

The window is 512 units wide, y pointing down. A state is (agent x, agent y, block x,
block y, block angle, agent velocity x, agent velocity y); the block's position is the
middle of the upper edge of its bar. The pale T in every frame is decoration at a fixed
place: it is not the goal of a query.
"""

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray
from pymunk.vec2d import Vec2d

from metro.benchmark import Benchmark
from metro.envs.make import make_environment
from metro.envs.pusht_geometry import AGENT_RADIUS, BAR, STEM, WINDOW, to_window
from metro.envs.resize import shrink
from metro.envs.variations import quiet_spaces
from metro.types import Image, StateColumns

_BLOCK_EDGE = (119, 136, 153)
_BLOCK_FILL = (142, 163, 183)
_AGENT_EDGE = (65, 105, 225)
_AGENT_FILL = (78, 126, 255)
_EDGE_WIDTH = 2.0
_AGENT_RIM = 4.0
_FRACTION_BITS = 4
_SUPERSAMPLING = 2

_Patch = tuple[NDArray[np.float64], tuple[int, int, int]]


class PushT:
    """stable-worldmodel's PushT with a camera of ``image_size`` pixels.

    Args:
        benchmark: Which environment to make, and its arguments.
        image_size: Height and width of a frame.
        rendering: "stock" draws as the environment does (224 pixels) and shrinks or
            grows that; "fast" draws the state with OpenCV, 1.6 grey levels (RMS) from
            it at 64 pixels and thirty times as fast.
    """

    def __init__(
        self, benchmark: Benchmark, *, image_size: int = 224, rendering: str = "stock"
    ) -> None:
        self.env = make_environment(benchmark)
        self.action_size = benchmark.action_size
        self.reset(seed=0)
        self._image_size = image_size
        self._painter = None if rendering == "stock" else Painter(self.env, image_size)

    def reset(self, seed: int) -> None:
        """Put agent and block at random places: swm's own distribution.

        The physics is set up again, so nothing of an earlier episode is left.
        """
        with quiet_spaces():
            self.env.reset(seed=seed)

    def set_state(self, row: StateColumns) -> None:
        """Put the simulator into ``row["state"]`` ``[7]`` with swm's own code.

        That includes its physics step of 0.01 s, by which the agent moves on a little.
        The block is at rest, as the row does not say otherwise.
        """
        # A new space: pymunk keeps contacts of bodies that were touching.
        self.env._setup()
        self.env._set_state(np.asarray(row["state"], np.float64))

    def set_goal(self, row: StateColumns) -> None:
        """Make ``row["state"]`` ``[7]`` the goal of `step` and `is_solved`."""
        self.env._set_goal_state(np.asarray(row["state"], np.float64))

    def step(self, action: NDArray[Any]) -> bool:
        """Return whether the goal is met after 0.1 s towards agent + 100 ``action``."""
        x, y = np.asarray(action, np.float64).tolist()
        # A vector of pymunk's: with an array its physics takes twice as long.
        return bool(self.env.step(Vec2d(x, y))[2])

    def is_solved(self) -> bool:
        """Return whether agent and block are within 20 units and 20 degrees."""
        env = self.env
        return bool(env.eval_state(env.goal_state, env._get_obs())[0])

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Return ``state`` ``[7]`` and ``proprio`` ``[4]`` (agent, its velocity)."""
        state = self.env._get_obs()
        return {"state": state, "proprio": state[[0, 1, 5, 6]]}

    def render(self) -> Image:
        """Return the present frame, ``[image_size, image_size, 3]``, red first."""
        if self._painter is not None:
            return self._painter.draw(self.env._get_obs())
        return shrink(self.env.render(), (self._image_size, self._image_size))

    def render_state(self, row: StateColumns) -> Image:
        """Return the picture of ``row["state"]`` ``[5]`` or ``[7]``, without physics.

        `set_state` makes a physics step, by which touching bodies move apart.
        """
        state = np.asarray(row["state"], np.float64)
        if self._painter is not None:
            return self._painter.draw(state)
        env = self.env
        env.agent.position, env.block.angle = state[:2].tolist(), float(state[4])
        env.block.position = state[2:4].tolist()
        # Bodies that are placed by hand are not drawn there before they are reindexed.
        for body in (env.agent, env.block):
            env.space.reindex_shapes_for_body(body)
        return self.render()

    def close(self) -> None:
        """Release the environment."""
        self.env.close()


class Painter:
    """Draws a PushT state with OpenCV, on a canvas twice as fine as the frame.

    Args:
        env: The environment, unwrapped; the fixed background is taken from it once.
        image_size: Height and width of a frame.
    """

    def __init__(self, env: Any, image_size: int) -> None:
        self._image_size = image_size
        self._canvas_size = image_size * _SUPERSAMPLING
        size = (self._canvas_size, self._canvas_size)
        self._background = shrink(_draw_background(env), size)
        self._canvas = self._background.copy()
        half_pixel = WINDOW / self._canvas_size / 2
        self._patches = _block_patches(half_pixel)
        self._discs = [
            (self._fixed_length(AGENT_RADIUS - half_pixel), _AGENT_EDGE),
            (self._fixed_length(AGENT_RADIUS - half_pixel - _AGENT_RIM), _AGENT_FILL),
        ]

    def draw(self, state: NDArray[np.float64]) -> Image:
        """Return the frame ``[image_size, image_size, 3]`` of a ``state`` ``[7]``."""
        # Into the same canvas: a new one per frame costs more than the drawing.
        np.copyto(self._canvas, self._background)
        self._draw_agent(state[:2])
        self._draw_block(state[2:5])
        return shrink(self._canvas, (self._image_size, self._image_size))

    def _draw_agent(self, centre: NDArray[np.float64]) -> None:
        x, y = self._fixed_point(centre).tolist()
        for radius, colour in self._discs:
            cv2.circle(
                self._canvas, (x, y), radius, colour, -1, cv2.LINE_AA, _FRACTION_BITS
            )

    def _draw_block(self, pose: NDArray[np.float64]) -> None:
        for corners, colour in self._patches:
            placed = self._fixed_point(to_window(corners, pose))
            cv2.fillConvexPoly(
                self._canvas, placed, colour, cv2.LINE_AA, _FRACTION_BITS
            )

    def _fixed_point(self, points: NDArray[np.float64]) -> NDArray[np.int32]:
        """Return window points as canvas pixels with fractional bits.

        OpenCV counts from pixel centres, the window from the corner of its pixels.
        """
        pixels = (points + 0.5) * (self._canvas_size / WINDOW) - 0.5
        return np.rint(pixels * (1 << _FRACTION_BITS)).astype(np.int32)

    def _fixed_length(self, length: float) -> int:
        return round(length * self._canvas_size / WINDOW * (1 << _FRACTION_BITS))


def _draw_background(env: Any) -> Image:
    """Return the window ``[512, 512, 3]`` without agent and block, as swm draws it."""
    # At full size, so that it can be shrunk like any other picture.
    native, env.render_size = env.render_size, WINDOW
    env.agent.position = (-WINDOW, -WINDOW)
    env.block.position = (-WINDOW, -WINDOW)
    env.space.reindex_shapes_for_body(env.agent)
    env.space.reindex_shapes_for_body(env.block)
    frame: Image = env.render()
    env.render_size = native
    return frame


def _block_patches(half_pixel: float) -> list[_Patch]:
    """Return the convex patches of the T in drawing order: corners and colour.

    An anti-aliased patch covers half a pixel more on every side: taken off here.
    """
    patches = []
    for left, top, right, bottom in (BAR, STEM):
        for edge, colour in ((_EDGE_WIDTH, _BLOCK_EDGE), (-_EDGE_WIDTH, _BLOCK_FILL)):
            margin = edge - half_pixel
            x0, y0, x1, y1 = (
                left - margin,
                top - margin,
                right + margin,
                bottom + margin,
            )
            corners = np.array([(x0, y0), (x1, y0), (x1, y1), (x0, y1)])
            patches.append((corners, colour))
    return patches


ENV = PushT
