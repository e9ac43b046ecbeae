"""Folders of videos as stable_worldmodel 0.1.1 writes them, read with OpenCV.

Its own reader looks for frames in a column called ``video``, its writer and every
environment call them ``pixels``; and it needs decord, which many systems lack.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.data.formats.hdf5_layout import AGAIN, LENGTHS, OFFSETS
from metro.errors import CorpusError
from metro.files import reading, require_regular_file


def is_video_folder(place: Path) -> bool:
    """Return whether there is one video per episode, ``pixels/ep_0.mp4`` and so on."""
    lengths, video = place / f"{LENGTHS}.npz", place / "pixels" / "ep_0.mp4"
    return lengths.is_file() and video.is_file()


class VideoSource:
    """One ``.npz`` per column, and for pixels one ``.mp4`` per episode."""

    settings: Mapping[str, Any] = {}
    kind = "a folder of videos, as stable-worldmodel writes it"

    def __init__(self, place: Path) -> None:
        self._place = place
        arrays = {file.stem: _load(file) for file in sorted(place.glob("*.npz"))}
        self.lengths = arrays.pop(LENGTHS)
        with reading(place / f"{LENGTHS}.npz", CorpusError, AGAIN):
            self.offsets = np.cumsum(self.lengths) - self.lengths
        self.offsets = arrays.pop(OFFSETS, self.offsets)
        self._arrays = arrays
        self.shapes = {name: array.shape for name, array in arrays.items()}
        # The size is nowhere but in the videos themselves.
        frame = self.read_frames(0, 1)[0]
        self.shapes["pixels"] = (int(self.lengths.sum()), *frame.shape)

    def read(self, name: str) -> NDArray[Any]:
        """Return all rows of a column."""
        return self._arrays[name]

    def read_frames(self, episode: int, count: int | None = None) -> NDArray[np.uint8]:
        """Return the first ``count`` frames of an episode, all if None."""
        import cv2

        file = self._place / "pixels" / f"ep_{episode}.mp4"
        wanted = int(self.lengths[episode] if count is None else count)
        require_regular_file(file, CorpusError)
        video = cv2.VideoCapture(str(file))
        frames: list[Any] = []
        try:
            while len(frames) < wanted:
                was_there, frame = video.read()
                if not was_there:
                    break
                frames.append(frame)
        finally:
            video.release()
        if len(frames) < wanted:
            raise CorpusError(
                f"{file} has {len(frames)} frames that can be read, its episode has "
                f"{wanted}. Record it or fetch it again."
            )
        return np.stack([cv2.cvtColor(frame, cv2.COLOR_BGR2RGB) for frame in frames])

    def close(self) -> None:
        """Let go of the arrays."""
        self._arrays = {}


def _load(file: Path) -> NDArray[Any]:
    require_regular_file(file, CorpusError)
    with (
        reading(file, CorpusError, AGAIN),
        file.open("rb") as stream,
        np.load(stream, allow_pickle=False) as archive,
    ):
        return np.asarray(archive["arr_0"])
