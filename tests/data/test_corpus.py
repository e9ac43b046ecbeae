"""Reading recordings of every kind, and saying what is wrong with bad ones."""

import re

import numpy as np
import pytest
from corpus_makers import write

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


def test_the_digest_sees_columns_and_frames(columns, tmp_path):
    """Any change of a state, or of a sampled frame."""
    digests = set()
    for number, name in enumerate(("nothing", "proprio", "pixels")):
        if name in columns:
            columns[name][0] += 1
        with open_corpus(write(tmp_path / f"{number}.h5", columns)) as corpus:
            digests.add(corpus.digest)
    assert len(digests) == 3


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
        f"{path} has action of 5 numbers, tworoom takes 2: it is a recording of "
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
            "is no corpus: it has no ep_len, only action, ep_offset, pixels, proprio.",
        ),
        ("pixels", None, "has no column 'pixels'; it has action, proprio."),
        (
            "pixels",
            np.zeros((12, 8, 6, 3), np.uint8),
            "pixels must be square pictures, got 8 x 6. metro convert with "
            "--image-size takes the square in their middle.",
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


def test_a_column_of_another_size_is_another_world(columns, tmp_path):
    """A state that the environment cannot be put into is refused before it is."""
    columns["proprio"] = np.zeros((12, 4))
    with (
        open_corpus(write(tmp_path / "x.h5", columns)) as corpus,
        pytest.raises(CorpusError, match="has proprio of 4 numbers, tworoom takes 2"),
    ):
        corpus.require(load_benchmark("tworoom"))


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -1.0, 256.0])
def test_pixels_that_are_no_brightness_are_refused(columns, tmp_path, wrong):
    """NaN never becomes a colour."""
    columns["pixels"] = columns["pixels"].astype(np.float32)
    path = write(tmp_path / "x.h5", columns)
    with open_corpus(path) as corpus:
        assert corpus.frames(0).dtype == np.uint8
    columns["pixels"][2, 0, 0, 0] = wrong
    with (
        open_corpus(write(tmp_path / "y.h5", columns)) as corpus,
        pytest.raises(CorpusError, match="pixels must be 0 to 255; episode 0 has"),
    ):
        corpus.frames(0)


@pytest.mark.parametrize(
    "lengths", [[[4, 3, 5]], 12, [4.0, 3.0, 5.0], [b"4"], [2**62, 2**62, 2**63 + 12]]
)
def test_lengths_that_are_no_lengths_are_refused(columns, tmp_path, lengths):
    """Whatever is stored there, the answer is one line."""
    columns["ep_len"] = np.array(lengths)
    with pytest.raises(CorpusError, match="x.h5"):
        open_corpus(write(tmp_path / "x.h5", columns))
