"""Reacher states that a search may change: the angles of two joints."""

import numpy as np

from metro.envs.reacher import Reacher
from metro.envs.state_space import States, StateSpace
from metro.types import CorpusLike, Image


class ReacherStates:
    """Reacher: shoulder, which turns freely, and wrist, which does not; rad."""

    def __init__(self, env: Reacher) -> None:
        self._env = env
        low, high = env.wrist_limits
        self.space = StateSpace(
            ("shoulder", "wrist"),
            np.array([-np.pi, low]),
            np.array([np.pi, high]),
            np.array([True, False]),
        )

    def read(self, corpus: CorpusLike) -> States:
        """Return the recorded poses inside the limits, the shoulder's in ±π."""
        return self.space.admit(corpus.column("qpos").astype(np.float64))[0]

    def draw(self, state: States) -> Image:
        """Return the arm in the pose ``state``."""
        return self._env.render_state({"qpos": state})


STATES = ReacherStates
