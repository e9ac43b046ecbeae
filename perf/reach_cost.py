"""Measure what the reach table costs beside encoding the same frames, in one thread.

Processor time, for the machine may be busy. Encoding reads the recording, as `metro encode` does;
the table has 32 neighbours per frame, as `metro build --pricing reach` has. Which frames they are
makes no difference, so they are drawn.

    python -m perf.reach_cost CORPUS.h5 MODEL [FRAMES]
"""

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from metro.core.latents import Latents
from metro.data.corpus import open_corpus
from metro.data.provenance import encode_frames
from metro.data.reach_graph import CANDIDATES
from metro.data.reach_table import measure_table
from metro.models.loading import load_model
from metro.models.reach_measure import ModelReach
from metro.version import commit

FRAMES = 20_000
NOISE = 0.02
"""s² in place of the corpus' own: the time does not depend on it."""


def seconds_of(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor time of a call, threads included, and what it returned."""
    began = time.process_time()
    result = call()
    return time.process_time() - began, result


def main(path: str, name: str, num_frames: int = FRAMES) -> None:
    """Print the seconds of both and their ratio."""
    torch.set_num_threads(1)
    model = load_model(name)
    with open_corpus(path) as corpus:
        episodes = int(np.searchsorted(corpus.offsets, num_frames))
        encode_frames(model, corpus.frames(0))  # loads what is loaded once

        def encode() -> Any:
            frames = (corpus.frames(episode) for episode in range(episodes))
            return np.concatenate([encode_frames(model, each) for each in frames])

        encoding, z = seconds_of(encode)
    latents = Latents(z, np.array([0, len(z)]))
    rng = np.random.default_rng(0)
    near = rng.integers(0, len(z), (len(z), CANDIDATES)).astype(np.int32)
    measure = ModelReach(model, NOISE)
    measuring, _ = seconds_of(lambda: measure_table(latents, near, measure))
    print(
        f"{name}, {len(z):,} frames: encoding {1e3 * encoding / len(z):.3f} ms a frame, "
        f"reach {1e3 * measuring / len(z):.3f} ms, ratio {measuring / encoding:.2f} "
        f"(commit {commit()})"
    )


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], *map(int, sys.argv[3:]))
