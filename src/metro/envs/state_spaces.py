"""The states of each world as numbers that a search may change, and their pictures."""

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from metro.benchmark import Benchmark
from metro.envs import open_env
from metro.envs.cube_states import CubeStates
from metro.envs.pusht_states import PushTStates
from metro.envs.reacher import Reacher
from metro.envs.state_space import Possible, States, StateSpace
from metro.envs.tworoom import TwoRoom
from metro.errors import BenchmarkError
from metro.types import CorpusLike, Image


class StateAdapter(Protocol):
    """A world whose states are drawn one after another. Decision: D24."""

    space: StateSpace

    def read(self, corpus: CorpusLike) -> States:
        """Return the states ``[N, S]`` of all recorded frames."""
        ...

    def draw(self, state: States) -> Image:
        """Return the picture of a state ``[S]``."""
        ...


class TwoRoomStates:
    """TwoRoom: where the agent is, ``[2]`` in pixels.

    Beside the door it cannot be nearer to the wall than its radius; there it is put
    on the nearer side.
    """

    def __init__(self, world: TwoRoom) -> None:
        self._world, env = world, world.env
        self._gap = env.wall_thickness // 2 + float(
            env.variation_space["agent"]["radius"].value.item()
        )
        border, largest = env.BORDER_SIZE, env.IMG_SIZE - env.BORDER_SIZE - 1
        self._axis = 0 if env.wall_axis == 1 else 1
        self.space = StateSpace(
            ("agent x", "agent y"),
            np.full(2, float(border)),
            np.full(2, float(largest)),
            np.zeros(2, dtype=bool),
            self._leave_wall,
        )

    def read(self, corpus: CorpusLike) -> States:
        """Return the recorded places."""
        return corpus.column("proprio").astype(np.float64)

    def draw(self, state: States) -> Image:
        """Return the rooms with the agent at ``state``."""
        return self._world.render_state({"proprio": state})

    def _leave_wall(self, states: States) -> tuple[States, Possible]:
        env, axis = self._world.env, self._axis
        centre = float(env.WALL_CENTER)
        across, along = states[:, axis], states[:, 1 - axis]
        margin = 1.75  # as in the environment's own collisions
        in_door = np.array([env._in_any_door_1d(float(y), margin) for y in along])
        in_wall = (np.abs(across - centre) < self._gap) & ~in_door
        side = np.where(across < centre, centre - self._gap, centre + self._gap)
        moved = states.copy()
        moved[:, axis] = np.where(in_wall, side, across)
        return moved, np.ones(len(states), dtype=bool)


class ReacherStates:
    """Reacher: shoulder, which turns freely, and wrist, which does not; rad."""

    def __init__(self, world: Reacher) -> None:
        self._world = world
        low, high = world.wrist_limits
        self.space = StateSpace(
            ("shoulder", "wrist"),
            np.array([-np.pi, low]),
            np.array([np.pi, high]),
            np.array([True, False]),
        )

    def read(self, corpus: CorpusLike) -> States:
        """Return the recorded poses inside the limits, the shoulder's in ±π."""
        return self.space.admit(corpus.column("qpos").astype(np.float64))[0]

    def draw(self, state: States) -> Image:
        """Return the arm in the pose ``state``."""
        return self._world.render_state({"qpos": state})


_STAGES: dict[str, Callable[[Any], StateAdapter]] = {
    "tworoom": TwoRoomStates,
    "reacher": ReacherStates,
    "pusht": PushTStates,
    "cube": CubeStates,
}


class OpenAdapter:
    """A stage with its world; close it after use."""

    def __init__(self, benchmark: Benchmark, image_size: int, rendering: str) -> None:
        if benchmark.name not in _STAGES:
            raise BenchmarkError(
                f"There are no states of {benchmark.name!r} to search. There are "
                f"those of {', '.join(_STAGES)}."
            )
        self.world = open_env(benchmark, image_size=image_size, rendering=rendering)
        self.world.reset(0)
        self.stage = _STAGES[benchmark.name](self.world)

    def pictures(self, states: States) -> NDArray[np.uint8]:
        """Return the pictures of states ``[K, S]``."""
        return np.stack([self.stage.draw(state) for state in states])

    def close(self) -> None:
        """Close the world."""
        self.world.close()
