"""All environments keep the contract of `metro.types.Env`; a broken one is found."""

import re

import numpy as np
import pytest

from metro.benchmark import benchmark_names, load_benchmark
from metro.envs import open_env
from metro.errors import WorldError
from metro.testing import check_env


@pytest.mark.parametrize("name", benchmark_names())
def test_every_benchmark_keeps_the_contract(name):
    """With stock and with fast frames."""
    for rendering in load_benchmark(name).renderings:
        env = open_env(load_benchmark(name), image_size=64, rendering=rendering)
        check_env(env)
        env.close()


class Corridor:
    """A dot in a corridor: the smallest environment that keeps the contract."""

    action_size = 1
    place = goal = 0.0

    def reset(self, seed):
        """Start at a place that the seed decides."""
        self.place = np.random.default_rng(seed).uniform(2, 12)

    def set_state(self, row):
        """Put the dot where the row says."""
        self.place = float(row["place"][0])

    def set_goal(self, row):
        """Make the place in the row the goal."""
        self.goal = float(row["place"][0])

    def step(self, action):
        """Move by the action."""
        self.place = float(np.clip(self.place + action[0], 0, 15))
        return self.is_solved()

    def is_solved(self):
        """Return whether the dot is near the goal."""
        return abs(self.place - self.goal) < 0.5

    def get_state(self):
        """Return the place."""
        return {"place": np.array([self.place])}

    def render(self):
        """Return a bright column at the dot, on a background that shows its place."""
        picture = np.full((16, 16, 3), int(15 * self.place), np.uint8)
        picture[:, int(self.place)] = 255
        return picture

    def render_state(self, row):
        """Return the picture of a state."""
        self.set_state(row)
        return self.render()

    def close(self):
        """Do nothing."""


def test_an_environment_of_the_users_own_passes():
    """Nothing but the ten members is needed."""
    check_env(Corridor())


class Unseeded(Corridor):
    """Forgets its seed."""

    seeds = iter(range(100))

    def reset(self, seed):
        """Start somewhere else each time."""
        super().reset(next(self.seeds))


class Shared(Corridor):
    """Gives its own picture away."""

    buffer = np.zeros((16, 16, 3), np.uint8)

    def render(self):
        """Return the same array each time, drawn only when the dot has moved."""
        if getattr(self, "drawn", None) != self.place:
            self.buffer[:], self.drawn = super().render(), self.place
        return self.buffer


class Undecided(Corridor):
    """Says nothing about its goal."""

    def step(self, action):
        """Return None."""
        super().step(action)

    def is_solved(self):
        """Return a distance instead of an answer."""
        return abs(self.place - self.goal)


class Elsewhere(Corridor):
    """Sets another state than it was given."""

    def set_state(self, row):
        """Mirror the place."""
        self.place = 15 - float(row["place"][0])


class Grey(Corridor):
    """Draws without colours."""

    def render(self):
        """Return one channel."""
        return super().render()[..., 0]


@pytest.mark.parametrize(
    ("broken", "problems"),
    [
        (Unseeded, ["reset with the same seed and the same actions gives other"]),
        (Shared, ["render returns an array that it uses itself; return a copy"]),
        (
            Undecided,
            ["is_solved must return a bool, got 0.0", "step must return a bool, got"],
        ),
        (
            Elsewhere,
            [
                "set_state with the row of get_state shows another picture",
                "render_state shows another picture than render did in that state",
            ],
        ),
        (Grey, ["render must return uint8 [S, S, 3], got uint8 [16, 16]"]),
    ],
)
def test_a_broken_environment_is_described(broken, problems):
    """In one sentence per problem."""
    with pytest.raises(WorldError) as caught:
        check_env(broken())
    text = str(caught.value)
    assert text.startswith(f"{broken.__name__} is no environment yet:\n- ")
    assert all(f"- {problem}" in text for problem in problems), text


def test_missing_members_are_listed_with_their_meaning():
    """All of them, before anything is called."""
    with pytest.raises(WorldError, match=re.escape("- no reset(seed): start from a")):
        check_env(object())


def test_an_error_of_the_environment_is_a_finding():
    """It is reported, not raised as it is."""

    class Raising(Corridor):
        def step(self, action):
            raise RuntimeError("no physics")

    with pytest.raises(WorldError, match="it raises RuntimeError: no physics"):
        check_env(Raising())
