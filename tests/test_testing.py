"""Laws of the contract checks that users run on what they bring."""

import re

import numpy as np
import pytest
from model_makers import make_model

from metro.errors import ModelError
from metro.testing import check_world_model


class Sound:
    """A world model without fault."""

    action_size, action_block, image_size, latent_size = 2, 5, 8, 3

    def encode(self, frames):
        """Return the mean colour of every frame."""
        return frames.mean(axis=(1, 2)).astype(np.float32)

    def rollout(self, z, actions):
        """Return the latents moved by the sum of all actions so far."""
        return z[:, None] + np.cumsum(actions.sum(axis=2), axis=1)[..., None]


def altered(**changes):
    """Return a sound model with some members replaced."""
    return type("Altered", (Sound,), changes)()


def random_like(values):
    """Return noise of the shape of some values."""
    noise = np.random.default_rng().normal(size=values.shape)
    return noise.astype(np.float32)


def test_a_sound_model_passes():
    """Neither ours nor a plain class is complained about, whatever the frames."""
    check_world_model(Sound())
    check_world_model(Sound(), np.zeros((4, 20, 20, 3), np.uint8))
    check_world_model(make_model())


def test_all_missing_members_are_listed():
    """One error names everything, in plain words."""
    message = (
        "object is no world model yet:\n"
        "- no encode(frames): uint8 [N, S, S, 3] -> float32 [N, D]\n"
        "- no rollout(z, actions): [B, D], [B, T, action_block * A] -> [B, T, D]\n"
        "- no action_size: A, numbers in the action of one environment step\n"
        "- no action_block: environment steps of one predicted step"
    )
    with pytest.raises(ModelError, match=f"^{re.escape(message)}$"):
        check_world_model(object())


def fails(*_):
    """Raise, as a stranger's code may."""
    raise ValueError("no")


FAULTS = {
    "action_block must be a whole number of at least 1, got 0": {"action_block": 0},
    "encode raises ValueError: no": {"encode": fails},
    "encode must return [3, 3], got [3, 2]": {
        "encode": lambda _, frames: Sound().encode(frames)[:, :2]
    },
    "encode raises ModelError: a world model returns float32, got int64": {
        "encode": lambda _, frames: Sound().encode(frames).astype(np.int64)
    },
    "encode returns numbers that are not finite": {
        "encode": lambda _, frames: Sound().encode(frames) * np.nan
    },
    "encode returns other numbers for the same input; a torch module must be in "
    "evaluation mode": {"encode": lambda _, frames: random_like(frames[:, 0, 0])},
    "encode gives a frame another latent when it is encoded alone": {
        "encode": lambda _, frames: Sound().encode(frames) * np.float32(len(frames))
    },
    "rollout raises ValueError: no": {"rollout": fails},
    "rollout must return [3, 3, 3], got [3, 3]": {"rollout": lambda _, z, __: z},
    "rollout gives a row other latents when it is rolled out alone": {
        "rollout": lambda _, z, a: Sound().rollout(z * np.float32(len(z)), a)
    },
    "rollout of 1 block is not the beginning of a rollout of 3": {
        "rollout": lambda _, z, a: Sound().rollout(z, a)[:, ::-1]
    },
}


@pytest.mark.parametrize("message", FAULTS)
def test_every_fault_is_said_in_plain_words(message):
    """One fault, one line."""
    with pytest.raises(ModelError, match=re.escape(f"\n- {message}")):
        check_world_model(altered(**FAULTS[message]))
