"""Collection policies of Cube: who moves the arm while a corpus is recorded.

Variant "expert" is OGBench's Markov oracle as stable-worldmodel runs it by default. Its
noise level is drawn for each episode, up to 0.1; when the cube is delivered, a new
place is drawn. Variant "planned" is OGBench's plan oracle as swm 0.1.1 runs it: it
follows a planned path, to one place for a whole episode. The released corpus was
probably recorded like this (D33). In the mixtures half of the episodes show what an
expert never does (`metro.data.collect.cube_primitives`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from metro.data.collect.cube_primitives import (
    Primitive,
    Wander,
    grasp_primitive,
    push_primitive,
)
from metro.data.collect.variants import Variant

if TYPE_CHECKING:
    from metro.envs.cube import Cube

_NOISE_SHARES = np.array([1.0, 1.0, 1.0, 3.0, 10.0])
"""Noise of x, y, z, yaw and gripper, in multiples of the noise level."""

_PLAN_NOISE, _PLAN_SMOOTHING = 0.1, 0.5
"""Noise and smoothing of the plan oracle, as swm has them."""

_TABLE_LOW, _TABLE_HIGH = (0.30, -0.30), (0.55, 0.30)
_CUBE_HEIGHT = 0.02
_MIN_NORM = 0.4
_LIFTED = 0.06
_FETCH_LIMIT = 80
_PRIMITIVES = ("grasp", "miss", "push", "wander", "expert")
_ODDS = (0.25, 0.20, 0.20, 0.20, 0.15)


class ScriptedExpert:
    """OGBench's oracle with noise, and a fresh place for the cube after each delivery.

    Args:
        noise: Upper bound of the noise level of an episode.
    """

    def __init__(self, noise: float = 0.1) -> None:
        self._most_noise = noise

    def begin(self, env: "Cube", rng: np.random.Generator) -> None:
        """Draw the noise level of the episode and the first place for the cube."""
        from ogbench.manipspace.oracles.markov.cube_markov import CubeMarkovOracle

        self._noise = rng.uniform(0, self._most_noise) * _NOISE_SHARES
        self._oracle: Any = CubeMarkovOracle(env=env.env, min_norm=_MIN_NORM)
        self._choose_place(env, rng)

    def act(self, env: "Cube", rng: np.random.Generator) -> NDArray[np.float32]:
        """Return the oracle's action ``[5]`` with noise, within [-1, 1]."""
        wanted = self._oracle.select_action(None, env.sense())
        if self._oracle.done:
            self._choose_place(env, rng)
        return clipped(wanted + rng.normal(0, self._noise))

    def _choose_place(self, env: "Cube", rng: np.random.Generator) -> None:
        env.aim_at(*_draw_place(rng))
        # The oracle draws where to rest from NumPy's global generator.
        with global_random(rng):
            self._oracle.reset(None, env.sense())


class PlannedExpert:
    """OGBench's plan oracle with noise; all deliveries of an episode are to one place.

    Decision: D33.
    """

    def begin(self, env: "Cube", rng: np.random.Generator) -> None:
        """Draw the place of the episode and the first path there."""
        from ogbench.manipspace.oracles.plan.cube_plan import CubePlanOracle

        self._oracle: Any = CubePlanOracle(
            env=env.env, noise=_PLAN_NOISE, noise_smoothing=_PLAN_SMOOTHING
        )
        env.aim_at(*_draw_place(rng))
        self._plan(env, rng)

    def act(self, env: "Cube", rng: np.random.Generator) -> NDArray[np.float32]:
        """Return the action ``[5]`` that follows the path, within [-1, 1]."""
        wanted = self._oracle.select_action(None, env.sense())
        if self._oracle.done:
            self._plan(env, rng)
        return clipped(wanted)

    def _plan(self, env: "Cube", rng: np.random.Generator) -> None:
        # The oracle draws paths and noise from NumPy's global generator.
        with global_random(rng):
            self._oracle.reset(None, env.sense())


class OffExpert:
    """Missed grasps, early releases, pushes, wandering, and a very noisy expert.

    A third of the episodes begins with the cube in the gripper.
    """

    def begin(self, env: "Cube", rng: np.random.Generator) -> None:
        """Start empty-handed, or fetch the cube first, which is not recorded."""
        self._primitive: Primitive | Wander | _Shaky | None = None
        if rng.random() < 1 / 3:
            _fetch(env, rng)

    def act(self, env: "Cube", rng: np.random.Generator) -> NDArray[np.float32]:
        """Return the next action ``[5]`` of the present primitive, within [-1, 1]."""
        senses = env.sense()
        if self._primitive is None or self._primitive.is_over:
            self._primitive = _choose_primitive(env, senses, rng)
        return clipped(self._primitive.act(senses, rng))


class OffExpertMixture:
    """Half of the episodes by `ScriptedExpert`, half by `OffExpert`, at random."""

    expert: type[ScriptedExpert] | type[PlannedExpert] = ScriptedExpert

    def begin(self, env: "Cube", rng: np.random.Generator) -> None:
        """Draw who acts in this episode, and let it begin."""
        self._policy = self.expert() if rng.random() < 0.5 else OffExpert()
        self._policy.begin(env, rng)

    def act(self, env: "Cube", rng: np.random.Generator) -> NDArray[np.float32]:
        """Return the action ``[5]`` of whoever was drawn."""
        return self._policy.act(env, rng)


class PlannedMixture(OffExpertMixture):
    """Half of the episodes by `PlannedExpert`, half by `OffExpert`, at random."""

    expert = PlannedExpert


class _Shaky:
    """The expert for 25 to 69 steps, with noise that makes it fail often."""

    def __init__(self, env: "Cube", rng: np.random.Generator) -> None:
        self._env, self._steps = env, int(rng.integers(25, 70))
        self._expert = ScriptedExpert(noise=0.5)
        self._expert.begin(env, rng)

    @property
    def is_over(self) -> bool:
        return self._steps <= 0

    def act(
        self, senses: dict[str, Any], rng: np.random.Generator
    ) -> NDArray[np.float32]:
        self._steps -= 1
        return self._expert.act(self._env, rng)


def _draw_place(rng: np.random.Generator) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return where to bring the cube, ``[3]`` metres, and how to turn it, ``[4]``."""
    x, y = rng.uniform(_TABLE_LOW, _TABLE_HIGH)
    half_turn = rng.uniform(0, np.pi)
    quaternion = np.array([np.cos(half_turn), 0.0, 0.0, np.sin(half_turn)])
    return np.array([x, y, _CUBE_HEIGHT]), quaternion


def clipped(action: NDArray[Any]) -> NDArray[np.float32]:
    """Return an action within [-1, 1]."""
    return np.asarray(np.clip(action, -1, 1), np.float32)


@contextmanager
def global_random(rng: np.random.Generator) -> Iterator[None]:
    """Seed NumPy's global generator from ``rng``; restore its state afterwards."""
    before = np.random.get_state()  # noqa: NPY002 - OGBench draws from it
    np.random.seed(int(rng.integers(2**31)))  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


def _choose_primitive(
    env: "Cube", senses: dict[str, Any], rng: np.random.Generator
) -> "Primitive | Wander | _Shaky":
    kind = rng.choice(_PRIMITIVES, p=_ODDS)
    if kind == "push":
        return push_primitive(senses, rng)
    if kind == "wander":
        return Wander(rng)
    if kind == "expert":
        return _Shaky(env, rng)
    return grasp_primitive(senses, rng, misses=kind == "miss")


def _fetch(env: "Cube", rng: np.random.Generator) -> None:
    """Let the oracle lift the cube; the episode begins after that."""
    expert = ScriptedExpert(noise=0.0)
    expert.begin(env, rng)
    for _ in range(_FETCH_LIMIT):
        env.step(expert.act(env, rng))
        if env.sense()["privileged/block_0_pos"][2] > _LIFTED:
            break
    for _ in range(int(rng.integers(0, 12))):
        env.step(expert.act(env, rng))
    # Setting the state clears controls and solver warm starts, which no row records.
    env.set_state(env.get_state())


VARIANTS = {
    "expert": Variant(ScriptedExpert),
    "mixture": Variant(OffExpertMixture),
    "planned": Variant(PlannedExpert),
    "planned-mixture": Variant(PlannedMixture),
}
