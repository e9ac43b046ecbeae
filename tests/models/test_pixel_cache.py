"""Laws of decoded pixels and of the states that probes aim at."""

import numpy as np
import pytest
from model_makers import make_footage
from numpy.testing import assert_array_equal

from metro.data.corpus import open_corpus
from metro.models.pixel_cache import (
    cache_pixels,
    state_targets,
)


@pytest.fixture(scope="module")
def footage():
    """Twelve episodes of a dot that its actions move."""
    return make_footage()


def write_corpus(folder, footage):
    """Write footage as a folder of arrays, which `open_corpus` reads."""
    folder.mkdir()
    np.save(folder / "pixels.npy", footage.pixels)
    np.save(folder / "action.npy", footage.actions)
    np.save(folder / "pos_agent.npy", footage.states)
    np.save(folder / "ep_len.npy", footage.lengths)
    return folder


def test_pixels_are_decoded_once(footage, tmp_path):
    """The cache holds every frame, and is read, not written, the second time."""
    folder = write_corpus(tmp_path / "dots", footage)
    told = []
    with open_corpus(folder) as corpus:
        pixels = cache_pixels(corpus, progress=lambda *done: told.append(done))
        assert told[-1] == (12, 12)
        assert_array_equal(pixels, footage.pixels)
        cache_pixels(corpus, progress=lambda *_: pytest.fail("decoded again"))


def test_a_cache_of_another_corpus_is_not_used(footage, tmp_path):
    """A corpus recorded anew under the old name is decoded anew."""
    folder = write_corpus(tmp_path / "dots", footage)
    with open_corpus(folder) as corpus:
        cache_pixels(corpus)
    other = make_footage(seed=1)
    np.save(folder / "pixels.npy", other.pixels)
    with open_corpus(folder) as corpus:
        assert_array_equal(cache_pixels(corpus), other.pixels)


@pytest.mark.parametrize(
    ("benchmark", "columns", "names"),
    [
        ("tworoom", {"pos_agent": 2}, "agent x,agent y"),
        (
            "reacher",
            {"qpos": 2},
            "shoulder sin,wrist sin,shoulder cos,wrist cos",
        ),
        (
            "pusht",
            {"state": 7},
            "agent x,agent y,block x,block y,angle sin,angle cos",
        ),
        (
            "cube",
            {"proprio_effector_pos": 3, "privileged_block_0_pos": 3},
            "effector x,effector y,effector z,cube x,cube y,cube z",
        ),
    ],
)
def test_every_benchmark_names_its_state(benchmark, columns, names):
    """States come from the released columns; angles as sine and cosine."""

    class Columns:
        def __init__(self):
            self.benchmark = benchmark

        def column(self, name):
            return np.arange(4.0 * columns[name]).reshape(4, -1)

    states, found = state_targets(Columns())
    assert ",".join(found) == names
    assert states.shape == (4, len(found))
    if benchmark == "pusht":
        np.testing.assert_allclose(
            states[1, 4:], [np.sin(11.0), np.cos(11.0)], rtol=1e-5
        )


def test_an_unknown_benchmark_has_no_state():
    """Without a benchmark there is nothing to probe."""

    class Unknown:
        benchmark = None

    assert state_targets(Unknown()) is None
