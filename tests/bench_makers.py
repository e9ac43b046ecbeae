"""Benches that tests of `metro.integrations` share; other processes can open them."""

import os
from dataclasses import dataclass

from metro.evaluation.context import EvalConfig, EvalContext


@dataclass
class FatalBench(EvalContext):
    """A context that takes its process down when an episode is asked for."""

    victim: int = -1

    def frame_of(self, episode, step):
        """Return what a context returns, or end the process."""
        if episode == self.victim:
            os._exit(1)
        return super().frame_of(episode, step)


@dataclass(frozen=True)
class FatalSource(EvalConfig):
    """Where the parts of such a context are."""

    victim: int = -1

    def open(self):
        """Open all of them."""
        context = super().open()
        parts = context.benchmark, context.corpus, context.model, context.graph
        return FatalBench(*parts, victim=self.victim)
