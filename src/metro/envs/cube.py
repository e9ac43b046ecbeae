"""Cube: OGBench's arm and cube through stable-worldmodel, without its waits.

A UR5e arm with a two-finger gripper and one cube of 4 cm on a table. A state is
``qpos`` ``[21]`` (six arm joints, eight gripper joints, cube position and quaternion)
and ``qvel`` ``[20]``. The environment compiles its model at each reset, half a
second; here it is compiled once and a reset forgets everything but the model.
"""

import copy
from dataclasses import replace
from typing import Any, ClassVar

import mujoco
import numpy as np
from numpy.typing import NDArray

from metro.benchmark import Benchmark
from metro.envs.fast_camera import FastCamera
from metro.envs.make import make_environment
from metro.envs.mesh_decimation import decimate
from metro.envs.variations import quiet_spaces
from metro.types import Image, StateColumns

CAMERA = "front_pixels"
"""The camera that the released recordings were made with."""

_ARM_CELL = 0.012
_GRIPPER_CELL = 0.008
_CUBE = 0
"""The only cube's number."""

_COLUMNS = (
    "qpos",
    "qvel",
    "control",
    "privileged/block_0_pos",
    "privileged/block_0_quat",
    "privileged/block_0_yaw",
    "proprio/effector_pos",
    "proprio/effector_yaw",
    "proprio/gripper_opening",
    "proprio/gripper_contact",
)


class Cube:
    """swm's OGBench cube with a camera of ``image_size`` pixels.

    Args:
        benchmark: Which environment to make, and its arguments.
        image_size: Height and width of a frame.
        rendering: "stock" draws as the environment does; "fast" without shadows and
            with coarser meshes, a hundred times faster.
    """

    def __init__(
        self, benchmark: Benchmark, *, image_size: int = 224, rendering: str = "stock"
    ) -> None:
        # The mode has the same physics and success test as "task", but random starts.
        arguments = dict(benchmark.env_arguments) | {
            "width": image_size,
            "height": image_size,
            "mode": "data_collection",
        }
        self.action_size = benchmark.action_size
        with quiet_spaces():
            self.env = make_environment(replace(benchmark, env_arguments=arguments))
            self.env.reset(seed=0)
        self._model, self._state = self.env.model, self.env.data
        self._fast = None
        if rendering != "stock":
            self._fast = _Drawing.shared(self._model, image_size)
        # Makes the drawing context now, before `registry._close_at_exit` registers.
        self.render()

    def reset(self, seed: int) -> None:
        """Put the cube at a random place, the arm above the middle, turned randomly.

        swm's own distribution and code, without compiling the model again.
        """
        from stable_worldmodel.envs.ogbench import cube_env
        from stable_worldmodel.spaces import reset_variation_space

        varied = cube_env.DEFAULT_VARIATIONS
        with quiet_spaces():
            reset_variation_space(self.env.variation_space, seed, None, varied)
        # The environment draws from this one; its own reset would make it the same.
        self.env.np_random = np.random.default_rng(seed)
        mujoco.mj_resetData(self._model, self._state)
        self.env.initialize_episode()
        mujoco.mj_forward(self._model, self._state)

    def set_state(self, row: StateColumns) -> None:
        """Put arm and cube into ``row["qpos"]`` ``[21]`` and ``row["qvel"]`` ``[20]``.

        The goal stays; solver warm starts and controls are forgotten.
        """
        # Resetting the data also moves the goal, which is a mocap body.
        goal = self._state.mocap_pos.copy(), self._state.mocap_quat.copy()
        mujoco.mj_resetData(self._model, self._state)
        self._state.mocap_pos[:], self._state.mocap_quat[:] = goal
        qpos, qvel = np.asarray(row["qpos"]), np.asarray(row["qvel"])
        self.env.set_state(qpos.astype(np.float64), qvel.astype(np.float64))
        self.env.post_step()

    def set_goal(self, row: StateColumns) -> None:
        """Make the cube's pose in ``row`` the goal."""
        self.aim_at(row["privileged_block_0_pos"], row["privileged_block_0_quat"])

    def aim_at(self, position: NDArray[Any], quaternion: NDArray[Any]) -> None:
        """Make ``position`` ``[3]`` (metres) and ``quaternion`` ``[4]`` the goal."""
        self.env.set_target_pos(_CUBE, position, quaternion)
        self.env.post_step()

    def step(self, action: NDArray[Any]) -> bool:
        """Return whether the goal is met after 0.05 s of ``action`` ``[5]``.

        The parts of the environment's own step that matter; what it leaves out are
        four descriptions of the state that nobody reads here.
        """
        env = self.env
        env.set_control(np.asarray(action, np.float64))
        mujoco.mj_step(self._model, self._state, nstep=env._n_steps)
        # Part of the environment's own step; MuJoCo computes contact forces only here.
        mujoco.mj_rnePostConstraint(self._model, self._state)
        env.post_step()
        return self.is_solved()

    def is_solved(self) -> bool:
        """Return whether the cube's centre is within 4 cm of the goal."""
        return bool(all(self.env._compute_successes()))

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Return the columns of this moment under their released names."""
        senses = self.sense()
        row = {name.replace("/", "_"): np.asarray(senses[name]) for name in _COLUMNS}
        row["observation"] = self.env.compute_observation()
        return row

    def sense(self) -> dict[str, Any]:
        """Return what OGBench's oracles look at, under OGBench's names."""
        senses: dict[str, Any] = self.env.compute_ob_info()
        return senses

    def render(self) -> Image:
        """Return the present frame, ``[image_size, image_size, 3]``, red first."""
        if self._fast is not None:
            return self._fast.draw(self._state.qpos)
        frame: Image = self.env.render(camera=CAMERA)
        return frame.copy()

    def render_state(self, row: StateColumns) -> Image:
        """Return the picture of ``row["qpos"]`` ``[21]``, without physics."""
        if self._fast is not None:
            return self._fast.draw(np.asarray(row["qpos"], np.float64))
        self.set_state({"qpos": row["qpos"], "qvel": np.zeros(self._model.nv)})
        return self.render()

    def penetration(self, positions: NDArray[np.float64]) -> float:
        """Return how deep bodies are inside each other in ``[21]``, metres; 0: not."""
        self._state.qpos[:] = positions
        mujoco.mj_kinematics(self._model, self._state)
        mujoco.mj_comPos(self._model, self._state)
        mujoco.mj_collision(self._model, self._state)
        depths = self._state.contact.dist[: self._state.ncon]
        return float(-depths.min(initial=0.0))

    @property
    def arm_limits(self) -> NDArray[np.float64]:
        """``[2, 6]`` lower and upper limits of the arm's joints, rad."""
        limits: NDArray[np.float64] = self._model.jnt_range[:6].T.copy()
        return limits

    @property
    def workspace(self) -> NDArray[np.float64]:
        """``[2, 3]`` corners of where the gripper can take the cube, metres."""
        corners: NDArray[np.float64] = self.env._workspace_bounds.copy()
        return corners

    def close(self) -> None:
        """Release the environment and its camera."""
        if self._fast is not None:
            self._fast.leave()
            self._fast = None
        if self.env._renderer is not None:
            self.env._renderer.close()
            self.env._renderer = None
        self.env.close()


class _Drawing:
    """Draws joint positions with a coarser copy of the model, which is never stepped.

    A frame is a function of the positions alone: the environment's own lags them by
    one physics step of 2 ms after a step, and not after a restore. So one drawing of a
    size serves all environments of a process; separate ones take 100 MB each.
    """

    _all: ClassVar[dict[int, "_Drawing"]] = {}

    @classmethod
    def shared(cls, model: Any, image_size: int) -> "_Drawing":
        """Return the drawing of a size, for one more environment."""
        if image_size not in cls._all:
            cls._all[image_size] = cls(model, image_size)
        drawing = cls._all[image_size]
        drawing._users += 1
        return drawing

    def leave(self) -> None:
        """Close the drawing if no other environment uses it."""
        self._users -= 1
        if self._users == 0:
            del self._all[self._image_size]
            self._camera.close()

    def __init__(self, model: Any, image_size: int) -> None:
        self._image_size, self._users = image_size, 0
        self._model = copy.deepcopy(model)
        decimate(self._model, _cell_size)
        self._state = mujoco.MjData(self._model)
        floor = [self._model.geom("floor").id]
        self._camera = FastCamera(
            self._model, CAMERA, image_size=image_size, backdrop=floor
        )

    def draw(self, positions: NDArray[np.float64]) -> Image:
        self._state.qpos[:] = positions
        mujoco.mj_kinematics(self._model, self._state)
        mujoco.mj_comPos(self._model, self._state)
        mujoco.mj_camlight(self._model, self._state)
        return self._camera.draw(self._state)


def _cell_size(mesh: str) -> float:
    """Return how coarse a mesh may become, in metres; the gripper matters more."""
    return _GRIPPER_CELL if "robotiq" in mesh else _ARM_CELL


ENV = Cube
