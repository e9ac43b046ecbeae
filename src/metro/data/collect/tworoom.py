"""How TwoRoom is recorded: swm's noisy expert, whose door and walk are its own."""

import numpy as np
from numpy.typing import NDArray

from metro.data.collect.variants import Variant
from metro.envs.tworoom import TwoRoom

_ACTION_NOISE = 2.0
"""Standard deviation that swm's collection script adds to the expert's direction."""


class NoisyExpert:
    """swm's expert as its script runs it today: the target may be anywhere."""

    def begin(self, env: TwoRoom, rng: np.random.Generator) -> None:
        """Take the target as reset drew it."""
        from stable_worldmodel.envs.two_room.expert_policy import ExpertPolicy

        self._expert = ExpertPolicy(action_noise=_ACTION_NOISE)
        self._expert.set_env(env.env)
        # The expert would draw from a generator of its own, whatever the seed.
        self._expert.rng = rng

    def act(self, env: TwoRoom, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return a noisy step to the door, or to the target in the same room."""
        places = env.env._get_info()
        action: NDArray[np.float32] = self._expert.get_action(places)
        return action


class Crossing(NoisyExpert):
    """The same expert with a far target in the other room.

    Episodes get as long as those of the released corpus, 92 frames in the mean; with
    targets anywhere they are a third shorter.
    """

    def begin(self, env: TwoRoom, rng: np.random.Generator) -> None:
        """Draw targets until one is in the other room, 25 steps or more away."""
        super().begin(env, rng)
        space = env.env.variation_space["target"]["position"]
        # Rejected by the environment's own test of what is far enough.
        target = rng.uniform(space.low, space.high)
        while not env.env._constrain_target_by_min_steps(target):
            target = rng.uniform(space.low, space.high)
        env.set_goal({"proprio": target.astype(np.float32)})


VARIANTS = {
    "crossing": Variant(Crossing, stops_at_goal=True),
    "expert": Variant(NoisyExpert, stops_at_goal=True),
}
