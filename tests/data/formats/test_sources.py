"""Laws of `metro.data.formats.sources`: what a path means."""

import os
import re

import pytest
from corpus_makers import same, write

from metro.data.corpus import open_corpus
from metro.data.formats.sources import open_source
from metro.errors import CorpusError


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


@pytest.mark.parametrize("name", ["pipe.h5", "pipe.npz", "pipe.npy", "pipe"])
def test_a_pipe_is_no_corpus(tmp_path, name):
    """Reading one would wait for a writer, perhaps for ever."""
    os.mkfifo(tmp_path / name)
    with pytest.raises(CorpusError, match=f"{name} is a pipe"):
        open_source(str(tmp_path / name))


@pytest.mark.parametrize("name", ["pixels.npy", "pixels/ep_0.mp4", "ep_0/0.png"])
def test_a_folder_with_a_pipe_is_no_corpus(tmp_path, name):
    """However deep the reader of its format looks."""
    (tmp_path / name).parent.mkdir(exist_ok=True)
    os.mkfifo(tmp_path / name)
    with pytest.raises(CorpusError, match=f"{name} is a pipe"):
        open_source(str(tmp_path))


def test_a_folder_with_one_hdf5_file_is_that_file(columns, tmp_path):
    """Read by us: the reader of swm follows it into other files."""
    write(tmp_path / "mine.h5", columns)
    with open_corpus(tmp_path) as corpus:
        assert same(corpus, columns)


def test_a_file_that_cannot_be_read_is_one_line(tmp_path):
    """Not even its first bytes, where the format is looked for."""
    (tmp_path / "c.h5").symlink_to("/proc/self/mem")
    with pytest.raises(CorpusError, match=r"c\.h5 cannot be read: .*error"):
        open_source(tmp_path / "c.h5")
