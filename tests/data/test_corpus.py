"""Reading recordings of every kind, and saying what is wrong with bad ones."""

import re

import numpy as np
import pytest
from corpus_makers import same, write

from metro.benchmark import load_benchmark
from metro.data import corpus as corpora
from metro.data.collect.record import record
from metro.data.corpus import open_corpus
from metro.errors import CorpusError


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Three episodes of TwoRoom, recorded by metro."""
    path = tmp_path_factory.mktemp("corpus") / "tworoom.h5"
    tworoom = load_benchmark("tworoom")
    record(tworoom, path, episodes=3, image_size=32, steps=6)
    return path


def test_our_own_recording(recorded):
    """Knows its benchmark, its rendering and its size."""
    with open_corpus(recorded) as corpus:
        assert corpus.benchmark == "tworoom"
        assert corpus.rendering == "stock"
        assert corpus.image_size == 32
        assert corpus.num_episodes == 3
        assert corpus.num_frames == corpus.lengths.sum()
        assert corpus.settings["recipe"] == "crossing"
        assert "ep_len" not in corpus.columns
        corpus.require(load_benchmark("tworoom"))
        row = corpus.row(int(corpus.offsets[1]))
        assert row["ep_idx"] == 1
        assert "pixels" not in row


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


def test_the_digest_sees_columns_and_frames(columns, tmp_path):
    """Any change of a state, or of a sampled frame."""
    digests = set()
    for number, name in enumerate(("nothing", "proprio", "pixels")):
        if name in columns:
            columns[name][0] += 1
        with open_corpus(write(tmp_path / f"{number}.h5", columns)) as corpus:
            digests.add(corpus.digest)
    assert len(digests) == 3


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


def test_frames_are_read_by_episode_only(recorded):
    """The whole would not fit into memory."""
    with open_corpus(recorded) as corpus:
        message = (
            f"The pixels of {recorded} are not read as a whole. Use frames(episode)."
        )
        with pytest.raises(CorpusError, match=f"^{re.escape(message)}$"):
            corpus.column("pixels")
        message = "episode must be in [0, 3), got 3."
        with pytest.raises(CorpusError, match=f"^{re.escape(message)}$"):
            corpus.frames(3)


def test_a_missing_column_lists_the_others(recorded):
    """All that there are."""
    message = (
        f"{recorded} has no column 'qpos'; it has action, ep_idx, pixels, pos_agent, "
        "proprio, state, step_idx."
    )
    with (
        open_corpus(recorded) as corpus,
        pytest.raises(CorpusError, match=f"^{re.escape(message)}$"),
    ):
        corpus.column("qpos")


def test_a_recording_of_another_benchmark_is_noticed(recorded):
    """By what it says itself."""
    message = (
        f"{recorded} is a recording of tworoom, not of cube. Give one of cube, or name "
        "that benchmark."
    )
    with (
        open_corpus(recorded) as corpus,
        pytest.raises(CorpusError, match=f"^{re.escape(message)}$"),
    ):
        corpus.require(load_benchmark("cube"))


def test_a_foreign_recording_is_known_by_its_columns(columns, tmp_path):
    """States that cannot be restored, actions of another size."""
    path = write(tmp_path / "x.h5", columns)
    with open_corpus(path) as corpus:
        corpus.require(load_benchmark("tworoom"))
        message = f"{path} has no column 'qpos'; it has action, pixels, proprio."
        with pytest.raises(CorpusError, match=f"^{re.escape(message)}$"):
            corpus.require(load_benchmark("reacher"))
    columns["action"] = np.zeros((12, 5), np.float32)
    path = write(tmp_path / "y.h5", columns)
    message = (
        f"{path} has actions of 5 numbers, tworoom takes 2: it is a recording of "
        "something else."
    )
    with (
        open_corpus(path) as corpus,
        pytest.raises(CorpusError, match=f"^{re.escape(message)}$"),
    ):
        corpus.require(load_benchmark("tworoom"))


def test_half_a_file_is_told(recorded, tmp_path):
    """What a broken download leaves."""
    path = tmp_path / "half.h5"
    path.write_bytes(recorded.read_bytes()[:3000])
    message = (
        rf"^{re.escape(str(path))} cannot be read: .*truncated file.*\. "
        r"It may be half written: record it or fetch it again\.$"
    )
    with pytest.raises(CorpusError, match=message):
        open_corpus(path)


@pytest.mark.parametrize("name", ["x.h5", "x.npz", "x.npy"])
def test_text_is_no_corpus(name, tmp_path):
    """Whatever it is called."""
    path = tmp_path / name
    path.write_text("hello")
    with pytest.raises(CorpusError, match=f"^{re.escape(str(path))} cannot be read: "):
        open_corpus(path)


def test_what_is_not_there_is_told(tmp_path, monkeypatch):
    """With the other place that was looked at."""
    monkeypatch.setenv("STABLEWM_HOME", str(tmp_path))
    message = f"nowhere.h5 does not exist, nor does {tmp_path}/datasets/nowhere.h5."
    with pytest.raises(CorpusError, match=f"^{re.escape(message)}$"):
        open_corpus("nowhere.h5")


def test_a_name_is_looked_up_where_swm_keeps_datasets(columns, tmp_path, monkeypatch):
    """As its own reader does."""
    monkeypatch.setenv("STABLEWM_HOME", str(tmp_path))
    (tmp_path / "datasets").mkdir()
    write(tmp_path / "datasets" / "mine.h5", columns)
    with open_corpus("mine.h5") as corpus:
        assert same(corpus, columns)


def test_an_empty_folder_is_no_corpus(tmp_path):
    """Of no kind that swm knows."""
    with pytest.raises(CorpusError, match="cannot be opened as a corpus: ValueError"):
        open_corpus(tmp_path)


def change(columns, name, values):
    """Return the columns with one replaced, or without it."""
    others = {key: value for key, value in columns.items() if key != name}
    return others if values is None else others | {name: values}


@pytest.mark.parametrize(
    ("name", "values", "message"),
    [
        (
            "ep_len",
            None,
            "is no corpus: it has no ep_len and ep_offset, only action, ep_offset, "
            "pixels, proprio.",
        ),
        ("pixels", None, "has no column 'pixels'; it has action, proprio."),
        (
            "pixels",
            np.zeros((12, 8, 6, 3), np.uint8),
            "pixels must be square pictures [N, S, S, 3], got [12, 8, 6, 3].",
        ),
        (
            "action",
            np.zeros((11, 2)),
            "its episodes have 12 rows, its column 'action' has 11. It is half written "
            "or damaged: record it again.",
        ),
        (
            "ep_offset",
            np.array([0, 3, 7]),
            "episodes must follow one another, but ep_offset is not the running sum of "
            "ep_len. Record it again.",
        ),
        (
            "ep_len",
            np.array([4, 0, 8]),
            "has no episodes, or empty ones. Record it again.",
        ),
    ],
)
def test_columns_that_do_not_fit_are_told(name, values, message, columns, tmp_path):
    """Which one, and how."""
    path = write(tmp_path / "x.h5", change(columns, name, values))
    with pytest.raises(
        CorpusError, match=f"^{re.escape(str(path))}:? {re.escape(message)}$"
    ):
        open_corpus(path)


def test_few_frames_are_read_for_the_digest(recorded, monkeypatch):
    """One an episode, of at most 64 episodes."""
    monkeypatch.setattr(corpora, "_SAMPLED", 2)
    with open_corpus(recorded) as corpus:
        read = []
        original = corpus._source.read_frames

        def watch(episode, count=None):
            read.append((episode, count))
            return original(episode, count)

        monkeypatch.setattr(corpus._source, "read_frames", watch)
        assert corpus.digest
    assert read == [(0, 1), (2, 1)]
