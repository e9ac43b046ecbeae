"""Cube: six arm joints, the gripper's driver, and the cube's place and yaw."""

import numpy as np
from numpy.typing import NDArray

from metro.envs.cube import Cube
from metro.envs.state_space import Possible, States, StateSpace
from metro.types import CorpusLike, Image

_NAMES = (
    *("pan", "lift", "elbow", "wrist 1", "wrist 2", "wrist 3", "gripper"),
    *("cube x", "cube y", "cube z", "cube yaw"),
)
_CLOSED = 0.8
"""Largest angle of the gripper's driver, rad."""

_MARGIN = 0.01
"""Metres that a recorded cube leaves the workspace by: it rolls."""

_TOUCH = 0.008
"""Metres that bodies may be inside each other; in recorded states it is up to 0.006."""


class CubeStates:
    """Cube: joints in rad, place in metres, yaw in rad (wrapped).

    The gripper's eight joints follow its driver as they do without contact, fingers
    parallel; the cube lies flat, and by its symmetry yaw is all there is. States in
    which bodies are inside each other are refused: there is no short way out.
    """

    def __init__(self, env: Cube) -> None:
        self._env = env
        arm, room = env.arm_limits, env.workspace
        # The height of the cube's centre when it lies on the table.
        half = room[0, 2]
        low = [*arm[0], 0.0, *(room[0, :2] - _MARGIN), half, -np.pi]
        high = [*arm[1], _CLOSED, *(room[1, :2] + _MARGIN), room[1, 2], np.pi]
        is_wrapped = np.array([False] * 10 + [True])
        self.space = StateSpace(
            _NAMES, np.array(low), np.array(high), is_wrapped, self._refuse
        )

    def read(self, corpus: CorpusLike) -> States:
        """Return recorded states; of tilted cubes the yaw of their most level edge."""
        qpos = corpus.column("qpos").astype(np.float64)
        parts = [qpos[:, :7], qpos[:, 14:17], cube_yaws(qpos[:, 17:])[:, None]]
        recorded = np.concatenate(parts, axis=1)
        return np.clip(recorded, self.space.low, self.space.high)

    def draw(self, state: States) -> Image:
        """Return arm and cube in ``state``."""
        return self._env.render_state({"qpos": to_positions(state)})

    def _refuse(self, states: States) -> tuple[States, Possible]:
        depths = [self._env.penetration(to_positions(state)) for state in states]
        return states, np.array(depths) <= _TOUCH


def to_positions(state: States) -> NDArray[np.float64]:
    """Return ``qpos`` ``[21]`` of a state ``[11]``."""
    driver, yaw = state[6], state[10]
    finger = [driver, 0.0, driver, -driver]
    turned = [np.cos(yaw / 2), 0.0, 0.0, np.sin(yaw / 2)]
    return np.concatenate([state[:6], finger, finger, state[7:10], turned])


def cube_yaws(quaternions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the yaw ``[N]`` of cubes ``[N, 4]``, whichever face they lie on."""
    w, x, y, z = quaternions.T
    axes = np.array(
        [
            (1 - 2 * (y * y + z * z), 2 * (x * y + w * z), 2 * (x * z - w * y)),
            (2 * (x * y - w * z), 1 - 2 * (x * x + z * z), 2 * (y * z + w * x)),
            (2 * (x * z + w * y), 2 * (y * z - w * x), 1 - 2 * (x * x + y * y)),
        ]
    )  # [axis of the cube, coordinate in space, N]
    # A cube on another face has its yaw in another axis: the one that is level.
    level = np.abs(axes[:, 2]).argmin(axis=0)
    chosen = axes[level, :, np.arange(len(w))]
    yaws: NDArray[np.float64] = np.arctan2(chosen[:, 1], chosen[:, 0])
    return yaws


STATES = CubeStates
