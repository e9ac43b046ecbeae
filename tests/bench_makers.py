"""Benches that tests of `metro.integrations` share; other processes can open them."""

import os
from dataclasses import dataclass

from metro.evaluation.context import Bench, BenchSource


@dataclass
class FatalBench(Bench):
    """A bench that takes its process down when an episode is asked for."""

    victim: int = -1

    def frame_of(self, episode, step):
        """Return what a bench returns, or end the process."""
        if episode == self.victim:
            os._exit(1)
        return super().frame_of(episode, step)


@dataclass(frozen=True)
class FatalSource(BenchSource):
    """Where the parts of such a bench are."""

    victim: int = -1

    def open(self):
        """Open all of them."""
        bench = super().open()
        parts = bench.benchmark, bench.corpus, bench.model, bench.graph
        return FatalBench(*parts, victim=self.victim)
