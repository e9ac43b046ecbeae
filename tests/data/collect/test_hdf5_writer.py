"""Writing a corpus: released layout, the same bytes, and pictures as they were."""

import zlib

import h5py
import numpy as np
import pytest

from metro.data.collect.episode import Episode
from metro.data.collect.hdf5_writer import write_corpus

LENGTHS = (3, 1, 2)


def episodes():
    """Return three made-up episodes of pictures of 4 by 4 pixels, and the pictures."""
    rng = np.random.default_rng(0)
    made, drawn = [], []
    for length in LENGTHS:
        pictures = rng.integers(0, 255, (length, 4, 4, 3), np.uint8)
        columns = {"agent/place": rng.normal(size=(length, 2)), "done": np.ones(length)}
        streams = [zlib.compress(one.data, 4) for one in pictures]
        made.append(Episode(columns, streams))
        drawn.append(pictures)
    return made, np.concatenate(drawn)


@pytest.fixture
def stream(tmp_path):
    """The written file, open."""
    write_corpus(tmp_path / "a.h5", iter(episodes()[0]), image_size=4, settings="{}")
    with h5py.File(tmp_path / "a.h5") as opened:
        yield opened


def test_pictures_come_back(stream):
    """HDF5 unpacks the streams of workers to the pictures that were compressed."""
    assert np.array_equal(stream["pixels"][:], episodes()[1])


def test_one_chunk_is_one_picture(stream):
    """A frame can be read without its neighbours."""
    assert stream["pixels"].chunks == (1, 4, 4, 3)


def test_episodes_are_found_again(stream):
    """Lengths, offsets, and the episode and step of every row agree."""
    assert stream["ep_len"][:].tolist() == [3, 1, 2]
    assert stream["ep_offset"][:].tolist() == [0, 3, 4]
    assert stream["ep_idx"][:].tolist() == [0, 0, 0, 1, 2, 2]
    assert stream["step_idx"][:].tolist() == [0, 1, 2, 0, 0, 1]


def test_columns_are_named_as_released(stream):
    """A slash in a name becomes an underscore, and rows keep their order."""
    assert "agent" not in stream
    rows = np.concatenate([one.columns["agent/place"] for one in episodes()[0]])
    assert np.array_equal(stream["agent_place"][:], rows)


def test_settings_are_kept(stream):
    """The settings are an attribute of the file, as they were given."""
    assert stream.attrs["metro"] == "{}"


def test_the_same_rows_are_the_same_bytes(tmp_path):
    """Two files of the same episodes do not differ in a byte."""
    for name in ("a.h5", "b.h5"):
        write_corpus(tmp_path / name, episodes()[0], image_size=4, settings="{}")
    assert (tmp_path / "a.h5").read_bytes() == (tmp_path / "b.h5").read_bytes()
