"""Who moves the arm while a Cube corpus is recorded.

Recipe "expert" is OGBench's Markov oracle as stable-worldmodel runs it by default, with
noise of a level that is drawn for each episode, up to 0.1, and a new place when the
cube is at the old one. Recipe "planned" is its plan oracle, which follows a path of its
own, to one place for a whole episode, as swm 0.1.1 has it: so, we take it, the released
corpus was recorded (D33). The mixtures give half of the episodes to what an expert
never does (`metro.data.collect.cube_primitives`).
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from metro.data.collect.cube_primitives import (
    Primitive,
    Wander,
    grasp_errand,
    push_errand,
)
from metro.data.collect.variants import Variant

if TYPE_CHECKING:
    from metro.envs.cube import Cube

_NOISE_SHARES = np.array([1.0, 1.0, 1.0, 3.0, 10.0])
"""Noise of x, y, z, yaw and gripper, in levels."""

_PLAN_NOISE, _PLAN_SMOOTHING = 0.1, 0.5
"""Of the plan oracle, as swm has them."""

_TABLE_LOW, _TABLE_HIGH = (0.30, -0.30), (0.55, 0.30)
_CUBE_HEIGHT = 0.02
_MIN_NORM = 0.4
_LIFTED = 0.06
_FETCH_LIMIT = 80
_ERRANDS = ("grasp", "miss", "push", "wander", "expert")
_ODDS = (0.25, 0.20, 0.20, 0.20, 0.15)


class ScriptedExpert:
    """OGBench's oracle with noise, and a fresh place for the cube after each delivery.

    Args:
        noise: Upper bound of the noise level of an episode.
    """

    def __init__(self, noise: float = 0.1) -> None:
        self._most_noise = noise

    def begin(self, world: "Cube", rng: np.random.Generator) -> None:
        """Draw the noise level of the episode and the first place for the cube."""
        from ogbench.manipspace.oracles.markov.cube_markov import CubeMarkovOracle

        self._noise = rng.uniform(0, self._most_noise) * _NOISE_SHARES
        self._oracle: Any = CubeMarkovOracle(env=world.env, min_norm=_MIN_NORM)
        self._choose_place(world, rng)

    def act(self, world: "Cube", rng: np.random.Generator) -> NDArray[np.float32]:
        """Return the oracle's action ``[5]`` with noise, within [-1, 1]."""
        wanted = self._oracle.select_action(None, world.sense())
        if self._oracle.done:
            self._choose_place(world, rng)
        return clipped(wanted + rng.normal(0, self._noise))

    def _choose_place(self, world: "Cube", rng: np.random.Generator) -> None:
        world.aim_at(*_draw_place(rng))
        with global_random(rng):  # the oracle draws where to rest from NumPy's own
            self._oracle.reset(None, world.sense())


class PlannedExpert:
    """OGBench's plan oracle with noise; all deliveries of an episode are to one place.

    Decision: D33.
    """

    def begin(self, world: "Cube", rng: np.random.Generator) -> None:
        """Draw the place of the episode and the first path there."""
        from ogbench.manipspace.oracles.plan.cube_plan import CubePlanOracle

        self._oracle: Any = CubePlanOracle(
            env=world.env, noise=_PLAN_NOISE, noise_smoothing=_PLAN_SMOOTHING
        )
        world.aim_at(*_draw_place(rng))
        self._plan(world, rng)

    def act(self, world: "Cube", rng: np.random.Generator) -> NDArray[np.float32]:
        """Return the action ``[5]`` that follows the path, within [-1, 1]."""
        wanted = self._oracle.select_action(None, world.sense())
        if self._oracle.done:
            self._plan(world, rng)
        return clipped(wanted)

    def _plan(self, world: "Cube", rng: np.random.Generator) -> None:
        with global_random(rng):  # the oracle draws paths and noise from NumPy's own
            self._oracle.reset(None, world.sense())


class OffExpert:
    """Missed grasps, early releases, pushes, wandering, and a very noisy expert.

    A third of the episodes begins with the cube in the gripper.
    """

    def begin(self, world: "Cube", rng: np.random.Generator) -> None:
        """Start empty-handed, or fetch the cube first, which is not recorded."""
        self._errand: Primitive | Wander | _Shaky | None = None
        if rng.random() < 1 / 3:
            _fetch(world, rng)

    def act(self, world: "Cube", rng: np.random.Generator) -> NDArray[np.float32]:
        """Return the next action ``[5]`` of the present errand, within [-1, 1]."""
        senses = world.sense()
        if self._errand is None or self._errand.is_over:
            self._errand = _choose_errand(world, senses, rng)
        return clipped(self._errand.act(senses, rng))


class OffExpertMixture:
    """Half of the episodes by `ScriptedExpert`, half by `OffExpert`, by lot."""

    expert: type[ScriptedExpert] | type[PlannedExpert] = ScriptedExpert

    def begin(self, world: "Cube", rng: np.random.Generator) -> None:
        """Draw who acts in this episode, and let it begin."""
        self._actor = self.expert() if rng.random() < 0.5 else OffExpert()
        self._actor.begin(world, rng)

    def act(self, world: "Cube", rng: np.random.Generator) -> NDArray[np.float32]:
        """Return the action ``[5]`` of whoever was drawn."""
        return self._actor.act(world, rng)


class PlannedMixture(OffExpertMixture):
    """Half of the episodes by `PlannedExpert`, half by `OffExpert`, by lot."""

    expert = PlannedExpert


class _Shaky:
    """The expert for a while, with noise that makes it fail often."""

    def __init__(self, world: "Cube", rng: np.random.Generator) -> None:
        self._world, self._steps = world, int(rng.integers(25, 70))
        self._expert = ScriptedExpert(noise=0.5)
        self._expert.begin(world, rng)

    @property
    def is_over(self) -> bool:
        return self._steps <= 0

    def act(
        self, senses: dict[str, Any], rng: np.random.Generator
    ) -> NDArray[np.float32]:
        self._steps -= 1
        return self._expert.act(self._world, rng)


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
    """Make NumPy's global random numbers follow ``rng`` inside, as before after it."""
    before = np.random.get_state()  # noqa: NPY002 - OGBench draws from it
    np.random.seed(int(rng.integers(2**31)))  # noqa: NPY002
    try:
        yield
    finally:
        np.random.set_state(before)  # noqa: NPY002


def _choose_errand(
    world: "Cube", senses: dict[str, Any], rng: np.random.Generator
) -> "Primitive | Wander | _Shaky":
    kind = rng.choice(_ERRANDS, p=_ODDS)
    if kind == "push":
        return push_errand(senses, rng)
    if kind == "wander":
        return Wander(rng)
    if kind == "expert":
        return _Shaky(world, rng)
    return grasp_errand(senses, rng, misses=kind == "miss")


def _fetch(world: "Cube", rng: np.random.Generator) -> None:
    """Let the oracle lift the cube, then forget how that came about."""
    expert = ScriptedExpert(noise=0.0)
    expert.begin(world, rng)
    for _ in range(_FETCH_LIMIT):
        world.step(expert.act(world, rng))
        if world.sense()["privileged/block_0_pos"][2] > _LIFTED:
            break
    for _ in range(int(rng.integers(0, 12))):
        world.step(expert.act(world, rng))
    world.set_state(world.get_state())


VARIANTS = {
    "expert": Variant(ScriptedExpert),
    "mixture": Variant(OffExpertMixture),
    "planned": Variant(PlannedExpert),
    "planned-mixture": Variant(PlannedMixture),
}
