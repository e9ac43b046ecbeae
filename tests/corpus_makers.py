"""Small recordings that tests share."""

import h5py
import numpy as np

from metro.benchmark import load_benchmark
from metro.data.collect.record import record
from metro.data.corpus import open_corpus
from metro.models.loading import load_model

LENGTHS = np.array([4, 3, 5])


def make_columns():
    """Return arrays as anybody may have them."""
    rng = np.random.default_rng(0)
    return {
        "pixels": rng.integers(0, 255, (12, 8, 8, 3)).astype(np.uint8),
        "action": rng.normal(size=(12, 2)).astype(np.float32),
        "proprio": rng.normal(size=(12, 2)),
        "ep_len": LENGTHS,
        "ep_offset": np.array([0, 4, 7]),
    }


def write(path, columns):
    """Write columns to an HDF5 file as somebody else would."""
    with h5py.File(path, "w") as file:
        for name, values in columns.items():
            file[name] = values
    return path


def same(corpus, columns):
    """Return whether a corpus gives these columns back."""
    starts = np.cumsum(LENGTHS) - LENGTHS
    return (
        np.array_equal(corpus.lengths, LENGTHS)
        and np.array_equal(corpus.offsets, starts)
        and all(
            np.array_equal(corpus.frames(e), columns["pixels"][first : first + length])
            for e, (first, length) in enumerate(zip(starts, LENGTHS, strict=True))
        )
        and np.array_equal(corpus.column("action"), columns["action"])
    )


def record_tworoom(folder):
    """Record twelve episodes into a folder, with latents and graph; return it."""
    model, path = load_model("lewm-small-tworoom"), folder / "tworoom.h5"
    benchmark = load_benchmark("tworoom")
    record(benchmark, path, episodes=12, seed=5, image_size=model.image_size)
    with open_corpus(path) as corpus:
        corpus.build_graph(model, cache=folder / "tworoom.metro")
    return folder
