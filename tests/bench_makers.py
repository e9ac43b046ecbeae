"""Settings, rows and contexts that tests share; other processes can open them."""

import os
from contextlib import contextmanager
from dataclasses import dataclass

from metro.benchmark import load_benchmark
from metro.data.corpus import open_corpus
from metro.evaluation.context import EvalConfig, EvalContext
from metro.evaluation.records import Setting
from metro.models.loading import load_model
from metro.storage.artefacts import load_graph

FLAT = Setting("flat", 2, None, 20, 7)
METRO = Setting("metro", 1, 8, 20, 7)


def outcomes(rows):
    return [(row["frames_to_success"], row["kinds"]) for row in rows]


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


@contextmanager
def open_tworoom(folder):
    """Open the recorded TwoRoom of ``tworoom_folder`` with its model and graph."""
    benchmark, model = load_benchmark("tworoom"), load_model("lewm-small-tworoom")
    graph = load_graph(folder / "tworoom.metro")
    with open_corpus(folder / "tworoom.h5") as corpus:
        with EvalContext(benchmark, corpus, model, graph) as opened:
            yield opened
