"""Simulator states as numbers that a search may change, and their pictures.

The module ``metro.envs.NAME_states`` belongs to the benchmark NAME; its constant
``STATES`` is the class that implements `StateAdapter`.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from metro.benchmark import Benchmark, benchmark_names
from metro.envs.opening import open_env
from metro.envs.state_space import States, StateSpace
from metro.errors import BenchmarkError
from metro.types import CorpusLike, Image


class StateAdapter(Protocol):
    """An environment whose states are drawn one after another. Decision: D24."""

    space: StateSpace

    def read(self, corpus: CorpusLike) -> States:
        """Return the states ``[N, S]`` of all recorded frames."""
        ...

    def draw(self, state: States) -> Image:
        """Return the picture of a state ``[S]``."""
        ...


class OpenAdapter:
    """A state adapter with its environment; close it after use."""

    def __init__(self, benchmark: Benchmark, image_size: int, rendering: str) -> None:
        if not _has_states(benchmark.name):
            known = [name for name in benchmark_names() if _has_states(name)]
            raise BenchmarkError(
                f"There are no states of {benchmark.name!r} to search. There are "
                f"those of {', '.join(known)}."
            )
        self.world = open_env(benchmark, image_size=image_size, rendering=rendering)
        self.world.reset(0)
        # Only now: these modules import MuJoCo, and a renderer is chosen before that.
        module = import_module(f"metro.envs.{benchmark.name}_states")
        self.stage: StateAdapter = module.STATES(self.world)

    def pictures(self, states: States) -> NDArray[np.uint8]:
        """Return the pictures of states ``[K, S]``."""
        return np.stack([self.stage.draw(state) for state in states])

    def close(self) -> None:
        """Close the environment."""
        self.world.close()


def _has_states(name: str) -> bool:
    return find_spec(f"metro.envs.{name}_states") is not None
