"""One recorded episode: made of its seed and number, kept and read back unchanged."""

import zlib

import numpy as np
import pytest

from metro.benchmark import load_benchmark
from metro.data.collect.episode import (
    Episode,
    load_episode,
    record_episode,
    save_episode,
)
from metro.data.collect.spec import RecordingSpec
from metro.data.collect.variants import find_variants
from metro.envs import open_env


@pytest.fixture(scope="module")
def recorded():
    """Return a function that records an episode of six steps with one environment."""
    benchmark = load_benchmark("tworoom")
    recipe = next(iter(find_variants("tworoom")))
    env = open_env(benchmark, image_size=32)

    def record(number, seed=0):
        spec = RecordingSpec(benchmark, 9, seed, recipe, 32, "stock", 6)
        return record_episode(spec, env, number)

    yield record
    env.close()


@pytest.fixture(scope="module")
def first(recorded):
    """Episode 0."""
    return recorded(0)


@pytest.fixture(scope="module")
def second(first, recorded):
    """Episode 1, recorded after it."""
    return recorded(1)


def same(one, other):
    """Return whether two episodes have the same bytes."""
    return one.pictures == other.pictures and all(
        one.columns[name].tobytes() == other.columns[name].tobytes()
        for name in one.columns.keys() | other.columns.keys()
    )


def test_an_episode_comes_back_from_disk(first, tmp_path):
    """What was saved is loaded with the same bytes, types and picture bounds."""
    save_episode(first, tmp_path / "0.npz")
    loaded = load_episode(tmp_path / "0.npz")
    assert same(first, loaded)
    kinds = {name: rows.dtype for name, rows in first.columns.items()}
    assert {name: rows.dtype for name, rows in loaded.columns.items()} == kinds


def test_pictures_of_any_length_are_told_apart(tmp_path):
    """Streams of different lengths, an empty one too, are cut where they meet."""
    pictures = [b"abc", b"", b"d"]
    save_episode(Episode({"x": np.zeros(3)}, pictures), tmp_path / "0.npz")
    assert load_episode(tmp_path / "0.npz").pictures == pictures


def test_an_episode_does_not_remember_those_before(first, second, recorded):
    """Recorded again after another one an episode has the same bytes."""
    assert same(first, recorded(0))


def test_another_number_is_another_episode(first, second):
    """Two episodes of one recording differ."""
    assert not same(first, second)


def test_another_seed_is_another_episode(first, recorded):
    """The same number of another seed differs."""
    assert not same(first, recorded(0, seed=1))


def test_there_is_one_row_more_than_steps(first):
    """Six steps have seven rows, and the last action alone is NaN."""
    assert {len(rows) for rows in first.columns.values()} == {7}
    absent = np.isnan(first.columns["action"]).all(axis=1)
    assert absent.tolist() == [False] * 6 + [True]


def test_pictures_unpack_to_the_picture_size(second):
    """Every stream holds exactly one picture of 32 by 32 pixels."""
    pictures = second.pictures
    sizes = {len(zlib.decompress(picture)) for picture in pictures}
    assert (len(pictures), sizes) == (7, {32 * 32 * 3})
