"""TwoRoom states that a search may change: the place of the agent."""

import numpy as np

from metro.envs.state_space import Possible, States, StateSpace
from metro.envs.tworoom import TwoRoom
from metro.types import CorpusLike, Image


class TwoRoomStates:
    """TwoRoom: where the agent is, ``[2]`` in pixels.

    Beside the door it cannot be nearer to the wall than its radius; there it is put
    on the nearer side.
    """

    def __init__(self, env: TwoRoom) -> None:
        self._env, rooms = env, env.env
        self._gap = rooms.wall_thickness // 2 + float(
            rooms.variation_space["agent"]["radius"].value.item()
        )
        border, largest = rooms.BORDER_SIZE, rooms.IMG_SIZE - rooms.BORDER_SIZE - 1
        self._axis = 0 if rooms.wall_axis == 1 else 1
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
        return self._env.render_state({"proprio": state})

    def _leave_wall(self, states: States) -> tuple[States, Possible]:
        rooms, axis = self._env.env, self._axis
        centre = float(rooms.WALL_CENTER)
        across, along = states[:, axis], states[:, 1 - axis]
        # The margin of the environment's own collisions.
        margin = 1.75
        in_door = np.array([rooms._in_any_door_1d(float(y), margin) for y in along])
        in_wall = (np.abs(across - centre) < self._gap) & ~in_door
        side = np.where(across < centre, centre - self._gap, centre + self._gap)
        moved = states.copy()
        moved[:, axis] = np.where(in_wall, side, across)
        return moved, np.ones(len(states), dtype=bool)


STATES = TwoRoomStates
