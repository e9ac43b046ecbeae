"""TwoRoom: a dot walks through the door between two rooms (swm's own environment)."""

from math import gcd
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.benchmark import Benchmark
from metro.envs.make import make_environment
from metro.envs.resize import shrink
from metro.types import Image, StateColumns

_NATIVE = 224
"""Pixels along a side of the picture that the environment draws."""

_REACH = 48
"""Pixels around the agent beyond which its dot changes no pixel.

The dot is a Gaussian of standard deviation 7; at 42 pixels it is so faint that even
truncation to whole grey levels does not see it.
"""


class TwoRoom:
    """swm's ``TwoRoom-v1``, drawn as it draws itself, only faster."""

    def __init__(
        self, benchmark: Benchmark, *, image_size: int = 224, rendering: str = "stock"
    ) -> None:
        self.env = make_environment(benchmark)
        self.action_size = benchmark.action_size
        self._image_size = image_size
        # Window borders on multiples of it are borders of pixels in the small picture.
        self._period = _NATIVE // gcd(_NATIVE, image_size)
        self.env.reset(seed=0)
        # With the agent far outside, what is drawn never changes.
        self._empty = self.env._render_frame(self.env.agent_position + 1e9)
        whole = np.ascontiguousarray(self._empty.numpy().transpose(1, 2, 0))
        self._empty_small = shrink(whole, (image_size, image_size))

    def reset(self, seed: int) -> None:
        """Start from a random place, with a random target."""
        self.env.reset(seed=seed)

    def set_state(self, row: StateColumns) -> None:
        """Put the agent where ``row["proprio"]`` says, ``[2]`` in pixels."""
        self.env._set_state(np.asarray(row["proprio"], np.float32))

    def set_goal(self, row: StateColumns) -> None:
        """Make the place ``row["proprio"]`` the target."""
        self.env._set_goal_state(np.asarray(row["proprio"], np.float32))

    def step(self, action: NDArray[Any]) -> bool:
        """Return whether the target is met after one step."""
        return bool(self.env.step(np.asarray(action, np.float32))[2])

    def is_solved(self) -> bool:
        """Return whether the agent is within 16 pixels of the target."""
        gap = self.env.agent_position - self.env.target_position
        return float(gap.norm()) < 16.0

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Return the place of the agent ``[2]``, under its three released names."""
        place = self.env.agent_position.numpy()
        return {name: place.copy() for name in ("proprio", "pos_agent", "state")}

    def render(self) -> Image:
        """Return the rooms from above, with the agent but not the target."""
        place = self.env.agent_position
        x, y = (self._window(float(coordinate)) for coordinate in place)
        picture = self._empty_small.copy()
        small = (slice(*self._scaled(y)), slice(*self._scaled(x)))
        picture[small] = shrink(self._draw_window(x, y), picture[small].shape)
        return picture

    def render_state(self, row: StateColumns) -> Image:
        """Return the picture of a state, without physics."""
        self.set_state(row)
        return self.render()

    def close(self) -> None:
        """Give the environment back."""
        self.env.close()

    def _draw_window(self, x: slice, y: slice) -> Image:
        """Return this window of ``env.render()``, by the environment's own code."""
        env, look = self.env, self.env.variation_space["agent"]
        grids = SimpleNamespace(grid_x=env.grid_x[y, x], grid_y=env.grid_y[y, x])
        radius = float(look["radius"].value.item())
        dot = type(env)._gaussian_dot(grids, env.agent_position, radius)
        drawn = env._alpha_blend(self._empty[:, y, x], dot, look["color"].value)
        window: Image = drawn.permute(1, 2, 0).contiguous().numpy()
        return window

    def _window(self, centre: float) -> slice:
        """Return the pixels along an axis that the dot can change, and a few more.

        Its ends are also ends of pixels in the small picture.
        """
        first = (int(centre) - _REACH) // self._period * self._period
        last = -(-(int(centre) + _REACH) // self._period) * self._period
        return slice(max(0, first), min(_NATIVE, last))

    def _scaled(self, window: slice) -> tuple[int, int]:
        size = self._image_size
        return window.start * size // _NATIVE, window.stop * size // _NATIVE


ENV = TwoRoom
