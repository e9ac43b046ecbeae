"""Frames of one video."""

from contextlib import contextmanager
from types import SimpleNamespace

import av
import numpy as np
import pytest

from metro.data.formats import video_file
from metro.errors import CorpusError


def test_frames_that_change_size_are_refused(monkeypatch, tmp_path):
    """As a damaged stream gives them: both sizes are said."""
    sizes = [(16, 16), (16, 16), (8, 16)]
    frames = [
        av.VideoFrame.from_ndarray(np.zeros((*size, 3), np.uint8), format="rgb24")
        for size in sizes
    ]

    @contextmanager
    def opened(file):
        yield SimpleNamespace(decode=lambda stream: iter(frames)), None

    monkeypatch.setattr(video_file, "_opened", opened)
    assert video_file.read_stretch(tmp_path, 0, 2, None).shape == (2, 16, 16, 3)
    with pytest.raises(CorpusError, match=r", frame 2 is 8 x 16 .* are 16 x 16: all"):
        video_file.read_stretch(tmp_path, 0, 3, None)
