"""Recordings in the formats of others: Lance, folders, videos, Blosc, LeRobot."""

import os
import platform
import re
import subprocess
import sys
import warnings
from types import SimpleNamespace
from typing import ClassVar

import cv2
import h5py
import hdf5plugin
import numpy as np
import pytest
import torch
from corpus_makers import LENGTHS, same

from metro.compat import import_swm
from metro.data.corpus import open_corpus
from metro.errors import CorpusError, MissingExtra


@pytest.mark.parametrize(("kind", "name"), [("lance", "x.lance"), ("folder", "x")])
def test_what_swm_writes_is_read_through_it(kind, name, columns, tmp_path):
    """Frames as it stores them, in JPEG."""
    swm = import_swm()
    episodes = [
        {
            column: list(columns[column][first : first + length])
            for column in ("pixels", "action", "proprio")
        }
        for first, length in zip(np.cumsum(LENGTHS) - LENGTHS, LENGTHS, strict=True)
    ]
    with swm.data.get_format(kind).open_writer(tmp_path / name) as writer:
        writer.write_episodes(iter(episodes))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given buffer is not writable")
        with open_corpus(tmp_path / name) as corpus:
            np.testing.assert_array_equal(corpus.lengths, LENGTHS)
            assert corpus.frames(2).shape == (5, 8, 8, 3)
            np.testing.assert_allclose(
                corpus.column("action"), columns["action"], rtol=1e-6
            )
            assert len(corpus.digest) == 64


@pytest.fixture
def films(tmp_path):
    """Three episodes of grey pictures, laid out as swm's writer lays out videos."""
    greys = np.arange(LENGTHS.sum()) * 15 + 20
    (tmp_path / "films" / "pixels").mkdir(parents=True)
    codec = cv2.VideoWriter.fourcc(*"mp4v")
    for episode, part in enumerate(np.split(greys, np.cumsum(LENGTHS)[:-1])):
        file = tmp_path / "films" / "pixels" / f"ep_{episode}.mp4"
        writer = cv2.VideoWriter(str(file), codec, 25, (32, 32))
        for grey in part:
            picture = np.full((32, 32, 3), grey, np.uint8)
            picture[:, 16:, 0] = 255  # blue, as OpenCV orders colours
            writer.write(picture)
        writer.release()
    for name, values in (
        *(("ep_len", LENGTHS), ("ep_offset", np.cumsum(LENGTHS) - LENGTHS)),
        ("action", np.arange(24.0).reshape(12, 2)),
    ):
        np.savez(tmp_path / "films" / name, values)
    return tmp_path / "films", greys


def test_a_folder_of_videos(films):
    """Frames in their order, colours in ours, columns as they are."""
    folder, greys = films
    with open_corpus(folder) as corpus:
        np.testing.assert_array_equal(corpus.lengths, LENGTHS)
        assert corpus.image_size == 32
        frames = np.concatenate([corpus.frames(episode) for episode in range(3)])
        np.testing.assert_allclose(frames[:, 4, 4, 0], greys, atol=12)
        assert (frames[:, 4, 28, 2] > 200).all()
        assert (np.abs(frames[:, 4, 28, 0] - greys) < 60).all()
        np.testing.assert_array_equal(corpus.column("action")[5], [10, 11])
        assert len(corpus.digest) == 64


def test_a_video_that_is_too_short_is_told(films):
    """With both numbers."""
    folder, _ = films
    np.savez(folder / "ep_len", LENGTHS + np.array([0, 0, 2]))
    np.savez(folder / "action", np.zeros((14, 2)))
    message = (
        f"{folder}/pixels/ep_2.mp4 has 5 frames that can be read, its episode has 7. "
        "Record it or fetch it again."
    )
    with (
        open_corpus(folder) as corpus,
        pytest.raises(CorpusError, match=f"^{re.escape(message)}$"),
    ):
        corpus.frames(2)
    (folder / "action.npz").write_text("hello")
    with pytest.raises(CorpusError, match=r"action\.npz cannot be read: "):
        open_corpus(folder)


@pytest.fixture
def released(columns, tmp_path):
    """A file compressed as the released corpora are, HDF5 filter 32001."""
    with h5py.File(tmp_path / "released.h5", "w") as file:
        for name, values in columns.items():
            file.create_dataset(name, data=values, **hdf5plugin.Blosc())
    return tmp_path / "released.h5"


def test_blosc_is_read(released, columns):
    """Pixels and all other columns."""
    with h5py.File(released) as file:
        assert file["pixels"].id.get_create_plist().get_filter(0)[0] == 32001
    with open_corpus(released) as corpus:
        assert same(corpus, columns)


def test_blosc_without_its_library_names_it(released):
    """In a process of its own: filters cannot be taken back."""
    program = f"""
import sys
sys.modules["hdf5plugin"] = None
from metro.data.corpus import open_corpus
try:
    open_corpus({str(released)!r})
except Exception as error:
    print(type(error).__name__, error, sep=": ")
"""
    environment = os.environ | {"HDF5_PLUGIN_PATH": str(released.parent)}
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert ran.stdout == (
        f"MissingExtra: {released} is compressed with blosc (HDF5 filter 32001), which "
        "h5py alone cannot read: pip install hdf5plugin\n"
    ), ran.stderr


def test_lerobot_without_its_library_names_it(monkeypatch):
    """And the Python that it needs."""
    monkeypatch.setitem(sys.modules, "lerobot", None)
    message = (
        "lerobot://lerobot/pusht needs the lerobot library, on Python 3.12 or newer "
        f"(this is {platform.python_version()}): pip install lerobot"
    )
    with pytest.raises(MissingExtra, match=f"^{re.escape(message)}$"):
        open_corpus("lerobot://lerobot/pusht")


class LeRobotDataset:
    """As much of lerobot's class as swm's adapter uses; frames are in [0, 1]."""

    columns: ClassVar = {}
    features: ClassVar = {"observation.image": {}, "action": {}}
    meta = SimpleNamespace(camera_keys=["observation.image"], info={"fps": 10})

    def __init__(self, delta_timestamps, **_):
        episodes = np.repeat(np.arange(3), LENGTHS)
        actions = self.columns["action"]
        self.hf_dataset = {"episode_index": episodes, "action": actions}
        self._steps = delta_timestamps

    def __getitem__(self, row):
        picked = {
            name: row + np.rint(np.multiply(steps, 10)).astype(int)
            for name, steps in self._steps.items()
        }
        pixels = self.columns["pixels"][picked["observation.image"]]
        frames = torch.from_numpy(pixels).permute(0, 3, 1, 2) / 255
        actions = torch.from_numpy(self.columns["action"][picked["action"]])
        return {"observation.image": frames, "action": actions}


def test_lerobot_where_it_is_installed(columns, monkeypatch):
    """Through swm's adapter; frames become bytes again."""
    from stable_worldmodel.data.formats import lerobot

    LeRobotDataset.columns = columns
    monkeypatch.setattr(lerobot, "_import_lerobot_hub_dataset", lambda: LeRobotDataset)
    with open_corpus("lerobot://lerobot/pusht") as corpus:
        assert same(corpus, columns)
        assert corpus.image_size == 8
