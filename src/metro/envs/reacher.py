"""Reacher: a two-joint arm in the plane, to be brought into a recorded pose.

swm's environment over dm_control, task ``qpos_match``: MuJoCo's physics as it is.
"""

from math import inf
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.benchmark import Benchmark
from metro.envs.fast_camera import FastCamera
from metro.envs.make import make_environment
from metro.types import Image, StateColumns


class Reacher:
    """swm's ``ReacherDMControl-v0``.

    Args:
        benchmark: Which environment to make, and its arguments.
        image_size: Pixels along a side of a picture.
        rendering: ``stock`` as dm_control draws, or ``fast`` (see `FastCamera`).
    """

    def __init__(
        self, benchmark: Benchmark, *, image_size: int = 224, rendering: str = "stock"
    ) -> None:
        self.env = make_environment(benchmark)
        self.action_size = benchmark.action_size
        self._image_size = image_size
        self._forget_files()
        # The first reset compiles the model; later ones do not.
        self.reset(seed=0)
        camera_class = FastCamera if rendering == "fast" else StockCamera
        model, camera = self._physics.model.ptr, self.env.camera_id
        self._camera = camera_class(model, camera, image_size=image_size)

    def reset(self, seed: int) -> None:
        """Start from a random pose at rest; there is no goal until `set_goal`."""
        self.env.reset(seed=seed)
        self._task.target_qpos = None
        # dm_control would reset by itself after 20 s.
        self._episode._step_limit = inf

    def set_state(self, row: StateColumns) -> None:
        """Take the pose ``qpos`` ``[2]`` (rad) and ``qvel`` ``[2]`` (rad/s).

        The invisible target of dm_control follows ``target_pos`` ``[2]`` if given.
        """
        import mujoco

        physics = self._physics
        # Forgets the solver's warm starts, which no row records.
        mujoco.mj_resetData(physics.model.ptr, physics.data.ptr)
        if "target_pos" in row:
            physics.named.model.geom_pos["target", :2] = row["target_pos"]
        qpos, qvel = (np.asarray(row[name], np.float64) for name in ("qpos", "qvel"))
        self.env.set_state(qpos, qvel)

    def set_goal(self, row: StateColumns) -> None:
        """Make the pose ``row["qpos"]`` ``[2]`` the goal."""
        self.env.set_target_qpos(row["qpos"])

    def step(self, action: NDArray[Any]) -> bool:
        """Return whether the goal was met during two physics steps of 0.02 s."""
        met = bool(self.env.step(np.asarray(action))[2])
        # After success dm_control would replace the next step by a reset.
        self._episode._reset_next_step = False
        return met

    def is_solved(self) -> bool:
        """Return whether both joints are within 0.05 rad of the goal."""
        return self._task.get_termination(self._physics) is not None

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Return pose, speed, dm_control's observation ``[6]`` and two places."""
        seen = self.env.info
        columns = {
            name: seen[name] for name in ("qpos", "qvel", "finger_pos", "target_pos")
        }
        observation = self._task.get_observation(self._physics)
        return columns | {"observation": self.env._obs_to_array(observation)}

    def render(self) -> Image:
        """Return the arm from above; the target is invisible."""
        return self._camera.draw(self._physics.data.ptr)

    def render_state(self, row: StateColumns) -> Image:
        """Return the picture of the pose ``row["qpos"]`` ``[2]``, without physics."""
        import mujoco

        model, state = self._physics.model.ptr, self._physics.data.ptr
        state.qpos[:] = row["qpos"]
        mujoco.mj_kinematics(model, state)
        mujoco.mj_camlight(model, state)
        return self._camera.draw(state)

    @property
    def wrist_limits(self) -> tuple[float, float]:
        """Lower and upper limit of the second joint, rad; the first has none."""
        low, high = self._physics.model.ptr.jnt_range[1]
        return float(low), float(high)

    def close(self) -> None:
        """Give the environment and its drawing contexts back."""
        self._camera.close()
        self._forget_files()
        self.env.close()
        self._physics.free()

    def _forget_files(self) -> None:
        """Delete the folder that swm writes to compile a model, and then forgets."""
        self.env._mjcf_tempdir.cleanup()

    @property
    def _episode(self) -> Any:
        """dm_control's own environment, under swm's and a wrapper that scales."""
        return self.env.env._env

    @property
    def _physics(self) -> Any:
        return self.env.env.physics

    @property
    def _task(self) -> Any:
        return self.env.env.task


class StockCamera:
    """Draws what dm_control draws, to the last bit, with MuJoCo's own renderer.

    dm_control remembers which context it made current and does not notice that another
    library changed it; beside a `FastCamera` its pictures would be garbage.
    """

    def __init__(self, model: Any, camera: int, *, image_size: int) -> None:
        import mujoco

        self._camera = camera
        self._renderer = mujoco.Renderer(model, image_size, image_size)

    def draw(self, state: Any) -> Image:
        """Return the picture of ``state`` (``mujoco.MjData``), owned by the caller."""
        self._renderer.update_scene(state, camera=self._camera)
        picture: Image = self._renderer.render()
        return picture

    def close(self) -> None:
        """Give the drawing context back."""
        self._renderer.close()


ENV = Reacher
