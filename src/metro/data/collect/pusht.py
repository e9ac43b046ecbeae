"""Collection policies of PushT: who moves the disc while a corpus is recorded.

No expert ships for PushT: the released corpus is 206 human demonstrations, replayed
about 90 times each with noise. Here are swm's weak policy and a scripted pusher that
knows no goal; it goes round the T, pushes it through a random point of its edge, mostly
beside its centre of mass so that it turns, and lets go. Its episodes have nothing to do
with one another, or they are 206 of them replayed with noise, as the released ones are.
Actions are displacements of the disc's target in hundreds of units.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from metro.data.collect.pusht_primitives import (
    Push,
    choose_push,
    inside,
    limit_length,
    placed,
    route_around,
)
from metro.data.collect.variants import Variant
from metro.envs.pusht_geometry import AGENT_RADIUS, Points

if TYPE_CHECKING:
    from metro.types import Env

_ACTION_UNIT = 100.0
_WEAK_SHARE = 0.12
_WEAK_REACH = 100.0
_ARRIVED = 15.0
_DEMONSTRATIONS = 206
_DEMONSTRATION_STEPS = 100
_REPLAY_NOISE = 10.0


class Weak:
    """swm's weak policy: uniform actions, kept within 100 units of the block."""

    def begin(self, env: "Env", rng: np.random.Generator) -> None:
        """Do nothing: this policy has no memory."""

    def act(self, env: "Env", rng: np.random.Generator) -> NDArray[np.float32]:
        """Return a uniform action ``[2]`` whose target is near the block."""
        state = env.get_state()["state"]
        agent, block = state[:2], state[2:4]
        target = agent + rng.uniform(-1, 1, 2) * _ACTION_UNIT
        # Otherwise the disc wanders off and the T never moves.
        target = np.clip(target, block - _WEAK_REACH, block + _WEAK_REACH)
        return _action(target - agent)


class Pusher:
    """Scripted pushes through random points of the T's edge; 12 % weak episodes."""

    _pace = 1.0
    _weak_share = _WEAK_SHARE

    def begin(self, env: "Env", rng: np.random.Generator) -> None:
        """Draw the habits of this episode: weak or not, hurry, and noise."""
        self._weak = Weak() if rng.random() < self._weak_share else None
        self._hurry = self._pace * rng.uniform(0.3, 0.7)
        self._noise_level = self._pace * rng.uniform(0.0, 0.1)
        self._noise = np.zeros(2)
        self._push: Push | None = None

    def act(self, env: "Env", rng: np.random.Generator) -> NDArray[np.float32]:
        """Return the action ``[2]`` of the present phase: approach, push or retreat."""
        if self._weak is not None:
            return self._weak.act(env, rng)
        state = env.get_state()["state"]
        agent, pose = state[:2], state[2:5]
        if self._push is None or self._push.is_over:
            self._push = choose_push(agent, pose, rng)
        wanted = self._advance(self._push, agent, pose)
        # Noise that lasts: independent draws would cancel out within a few steps.
        self._noise = 0.6 * self._noise + rng.normal(0, self._noise_level, 2)
        target = agent + (wanted + self._noise) * _ACTION_UNIT
        return _action(inside(target) - agent)

    def _advance(self, push: Push, agent: Points, pose: Points) -> Points:
        """Return the action of this step before noise, and count the step."""
        if push.heading is None:
            return self._approach(push, agent, pose)
        if push.steps_left > 0 and not push.has_slipped(agent, pose):
            push.steps_left -= 1
            if push.touched:
                return self._pace * push.speed * push.aim(pose)
            to_contact = placed(push.contact, pose) - agent
            return limit_length(to_contact / AGENT_RADIUS, push.speed)
        push.steps_left = 0
        push.retreat -= 1
        return -0.5 * self._hurry * push.aim(pose)

    def _approach(self, push: Push, agent: Points, pose: Points) -> Points:
        start = push.staging_point(pose)
        push.patience -= 1
        if push.patience <= 0 or np.linalg.norm(start - agent) < _ARRIVED:
            push.begin(pose)
        waypoint = route_around(agent, start, pose)
        return limit_length(2 * (waypoint - agent) / _ACTION_UNIT, self._hurry)


class CalmPusher(Pusher):
    """The same pushes at the pace of the released demonstrations, nearly none weak.

    Their actions have a standard deviation of 0.21, a hurried pusher's 0.29. Pace
    matters to a world model: a single frame does not show how fast the disc is, and at
    twice the speed it rolls on twice as far.
    """

    _pace = 0.7
    _weak_share = 0.04


class NoisyReplay:
    """One of 206 calm demonstrations, replayed with noise: as the released corpus was.

    The disc is sent to where the demonstration sent it, give or take up to 10 units of
    noise, so it keeps to the demonstration's way, and the T comes to lie elsewhere. The
    206 are the same whatever the seed of a recording, which draws whose turn it is, the
    level of noise, and the noise. When a demonstration ends, the demonstrator acts.

    Decision: D32.
    """

    def begin(self, env: "Env", rng: np.random.Generator) -> None:
        """Play a demonstration to its end, unrecorded, and return to its start."""
        number = int(rng.integers(_DEMONSTRATIONS))
        self._noise_level = rng.uniform(0, _REPLAY_NOISE)
        # Not of the recording's seed: the demonstrations are the same for all seeds.
        own_rng = np.random.default_rng([_DEMONSTRATIONS, number])
        start = int(own_rng.integers(2**31))
        self._demonstrator = CalmPusher()
        env.reset(start)
        self._demonstrator.begin(env, own_rng)
        targets = []
        for _ in range(_DEMONSTRATION_STEPS):
            agent = env.get_state()["state"][:2]
            action = self._demonstrator.act(env, own_rng)
            targets.append(agent + action * _ACTION_UNIT)
            env.step(action)
        self._targets = iter(targets)
        env.reset(start)

    def act(self, env: "Env", rng: np.random.Generator) -> NDArray[np.float32]:
        """Return the action ``[2]`` towards the demonstration's next target."""
        target = next(self._targets, None)
        if target is None:
            return self._demonstrator.act(env, rng)
        noisy = target + rng.normal(0, self._noise_level, 2)
        return _action(inside(noisy) - env.get_state()["state"][:2])


def _action(displacement: Points) -> NDArray[np.float32]:
    return np.asarray(np.clip(displacement / _ACTION_UNIT, -1, 1), np.float32)


VARIANTS = {
    "weak": Variant(Weak),
    "pushes": Variant(Pusher),
    "calm": Variant(CalmPusher),
    "replayed": Variant(NoisyReplay),
}
