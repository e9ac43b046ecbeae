"""Laws of `metro.data.formats.npz`."""

import re

import numpy as np
import pytest
from corpus_makers import same, write

from metro.data.corpus import open_corpus
from metro.errors import CorpusError


def test_hdf5_npz_and_npy_hold_the_same(columns, tmp_path):
    """The same digest too: it is of contents, not of files."""
    write(tmp_path / "x.h5", columns)
    np.savez(tmp_path / "x.npz", **columns)
    (tmp_path / "arrays").mkdir()
    for name, values in columns.items():
        np.save(tmp_path / "arrays" / f"{name}.npy", values)
    digests = set()
    for name in ("x.h5", "x.npz", "arrays"):
        with open_corpus(tmp_path / name) as corpus:
            assert same(corpus, columns)
            assert corpus.benchmark is None
            digests.add(corpus.digest)
    assert len(digests) == 1


def test_one_array_of_pixels_needs_a_length(columns, tmp_path):
    """It does not say where episodes end."""
    path = tmp_path / "x.npy"
    np.save(path, columns["pixels"])
    message = (
        f"{path} does not say where episodes end. Add ep_len to it, or give "
        "episode_lengths."
    )
    with pytest.raises(CorpusError, match=f"^{re.escape(message)}$"):
        open_corpus(path)
    message = "12 rows are no whole number of episodes of 5 frames."
    with pytest.raises(CorpusError, match=f"^{re.escape(message)}$"):
        open_corpus(path, episode_lengths=5)
    with open_corpus(path, episode_lengths=6) as corpus:
        np.testing.assert_array_equal(corpus.frames(1), columns["pixels"][6:])
