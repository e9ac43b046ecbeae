"""Recordings in formats that stable-worldmodel reads: Lance, folders, LeRobot."""

import platform
import re
import sys
import warnings
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
import torch
from corpus_makers import LENGTHS, same

from metro.compat import import_swm
from metro.data.corpus import open_corpus
from metro.errors import MissingExtra


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
