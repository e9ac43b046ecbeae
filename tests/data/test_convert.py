"""Laws of `metro.data.convert`: any recording becomes one in the released layout."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import h5py
import numpy as np
import pytest
from format_makers import MAKERS, STARTS, lerobot, make_rows

from metro.compat import import_swm
from metro.data.convert import convert_corpus
from metro.data.corpus import open_corpus
from metro.errors import CorpusError, StorageError


def convert(source, path, **options):
    """Open a recording of any shape and convert it."""
    with open_corpus(source, is_square=False) as corpus:
        convert_corpus(corpus, path, **options)
    return path


@pytest.mark.parametrize("name", MAKERS)
def test_frames_and_columns_are_those_of_the_source(name, tmp_path):
    """Whatever the format was; actions become float32."""
    (tmp_path / "in").mkdir()
    source = MAKERS[name](tmp_path / "in")
    path = convert(source, tmp_path / "out.h5")
    with open_corpus(source) as old, open_corpus(path) as new:
        np.testing.assert_array_equal(new.lengths, old.lengths)
        assert set(new.columns) == {*old.columns, "ep_idx", "step_idx"}
        assert new.column("action").dtype == np.float32
        for column in set(old.columns) - {"pixels", "action"}:
            assert new.column(column).dtype == old.column(column).dtype
            np.testing.assert_array_equal(new.column(column), old.column(column))
        for episode in range(3):
            np.testing.assert_array_equal(new.frames(episode), old.frames(episode))


def test_stable_worldmodel_reads_what_was_converted(tmp_path):
    """The layout is that of the released files."""
    path = convert(lerobot(tmp_path), tmp_path / "out.h5")
    dataset = import_swm().data.load_dataset(str(path))
    np.testing.assert_array_equal(dataset.lengths, [12, 9, 15])
    rows = dataset.load_chunk([1], [0], [9])[0]
    assert rows["pixels"].shape == (9, 3, 64, 64)
    with h5py.File(path) as file:
        made_from = json.loads(file.attrs["metro"])["converted"]
        assert made_from["kind"] == "LeRobot v3.0"


def test_an_interrupted_run_gives_the_bytes_of_one_that_was_not(tmp_path):
    """And what was done is not done again."""
    source = lerobot(tmp_path)
    whole = convert(source, tmp_path / "whole.h5").read_bytes()

    def stop(done, total):
        if done >= 21:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        convert(source, tmp_path / "out.h5", progress=stop)
    assert not (tmp_path / "out.h5").exists()
    seen = []
    convert(source, tmp_path / "out.h5", progress=lambda done, total: seen.append(done))
    assert seen == [21, 36]
    assert (tmp_path / "out.h5").read_bytes() == whole
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {"dataset", "whole.h5", "out.h5"}


KILLED = """
import sys, time
from metro.data.convert import convert_corpus
from metro.data.corpus import open_corpus
def slow(done, total):
    print(done, flush=True)
    time.sleep(5 * (done >= 12))
with open_corpus(sys.argv[1]) as corpus:
    convert_corpus(corpus, sys.argv[2], progress=slow)
"""


def test_a_killed_run_is_resumed(tmp_path):
    """By SIGKILL, which no program notices."""
    source = lerobot(tmp_path)
    whole = convert(source, tmp_path / "whole.h5").read_bytes()
    command = [sys.executable, "-c", KILLED, source, tmp_path / "out.h5"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        while child.stdout.readline().strip() != "12":
            time.sleep(0.01)
        os.kill(child.pid, signal.SIGKILL)
    assert (tmp_path / ".out.h5.partial").is_dir()
    assert convert(source, tmp_path / "out.h5").read_bytes() == whole


def test_nothing_is_overwritten_without_force(tmp_path):
    """And what others wrote is not overwritten at all."""
    source = lerobot(tmp_path)
    path = convert(source, tmp_path / "out.h5")
    before = path.read_bytes()
    message = f"{path} exists already. Replace it with force=True (--force)."
    with pytest.raises(StorageError, match=f"^{re.escape(message)}$"):
        convert(source, path, image_size=32)
    assert path.read_bytes() == before
    convert(source, path, image_size=32, force=True)
    with open_corpus(path) as corpus:
        assert corpus.image_size == 32
    path.write_bytes(b"mine")
    with pytest.raises(StorageError, match="not even by force"):
        convert(source, path, force=True)
    assert path.read_bytes() == b"mine"


def test_the_square_in_the_middle_is_taken(tmp_path):
    """Where frames are not square, and a size is given; without one it is asked for."""
    rows = make_rows()
    wide = np.pad(rows["pixels"], [(0, 0), (0, 0), (16, 16), (0, 0)])
    np.savez(tmp_path / "x.npz", ep_len=[4, 3, 5], **rows | {"pixels": wide})
    message = "x.npz has frames of 32 x 64, the released layout has square ones. Give"
    with pytest.raises(CorpusError, match=message):
        convert(tmp_path / "x.npz", tmp_path / "out.h5")
    with open_corpus(
        convert(tmp_path / "x.npz", tmp_path / "out.h5", image_size=32)
    ) as corpus:
        np.testing.assert_array_equal(corpus.frames(1), rows["pixels"][4:7])
    with open_corpus(
        convert(tmp_path / "x.npz", tmp_path / "small.h5", image_size=16)
    ) as corpus:
        greys = corpus.frames(2)[:, 8, 2, 0]
        np.testing.assert_array_equal(greys, rows["pixels"][STARTS[2] :, 0, 0, 0])


def test_recordings_without_actions_are_refused(tmp_path):
    """Before anything is written; the columns are listed."""
    rows = make_rows()
    np.savez(tmp_path / "x.npz", ep_len=[4, 3, 5], pixels=rows["pixels"])
    with pytest.raises(CorpusError, match="no column 'action', which planning needs"):
        convert(tmp_path / "x.npz", tmp_path / "out.h5")
    assert {path.name for path in tmp_path.iterdir()} == {"x.npz"}


def test_a_frame_that_cannot_be_read_loses_nothing(tmp_path):
    """The episodes before it are kept; once it is there, the command goes on."""
    (tmp_path / "in").mkdir()
    source = MAKERS["picture_folder"](tmp_path / "in")
    whole = convert(source, tmp_path / "whole.h5").read_bytes()
    file = source / "take2" / "frame9.png"
    content = file.read_bytes()
    file.write_bytes(content[:60])
    with pytest.raises(CorpusError, match=re.escape(str(file))):
        convert(source, tmp_path / "out.h5")
    file.write_bytes(content)
    seen = []
    convert(source, tmp_path / "out.h5", progress=lambda done, total: seen.append(done))
    assert seen == [7, 12]
    assert (tmp_path / "out.h5").read_bytes() == whole
