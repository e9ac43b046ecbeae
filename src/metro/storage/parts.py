"""Finished parts of a long computation, kept on disk so that it can be resumed."""

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from metro.types import Frames, Gaps

Part = tuple[NDArray[np.int32], Frames, Gaps]

_EVERY_SECONDS = 10.0


class Shards:
    """Finished rows of a neighbour table, in a directory of their own.

    Parts are collected and written every ten seconds, under a temporary name first.
    Rows are exact whatever made them, so they can be resumed with other workers.

    Args:
        directory: Where to keep them; made when the first part is written.
        key: What the rows depend on. Parts of another key are thrown away.
    """

    def __init__(self, directory: Path, key: str) -> None:
        self._directory = directory
        self._waiting: list[Part] = []
        self._written = time.monotonic()
        note = directory / "key.txt"
        if directory.exists() and (not note.exists() or note.read_text() != key):
            shutil.rmtree(directory)
        self._key = key

    def finished(self) -> Iterator[Part]:
        """Yield the parts that earlier runs finished."""
        for file in sorted(self._directory.glob("part-*.npz")):
            with np.load(file) as part:
                yield part["frames"], part["frame"], part["gap"]

    def add(self, part: Part) -> None:
        """Take a finished part; write those that wait if it is time."""
        self._waiting.append(part)
        if time.monotonic() - self._written > _EVERY_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write all parts that wait."""
        if not self._waiting:
            return
        self._directory.mkdir(parents=True, exist_ok=True)
        (self._directory / "key.txt").write_text(self._key)
        number = len(list(self._directory.glob("part-*.npz")))
        frames, frame, gap = (
            np.concatenate(column) for column in zip(*self._waiting, strict=True)
        )
        unfinished = self._directory / "unfinished"
        with unfinished.open("wb") as stream:
            np.savez(stream, frames=frames, frame=frame, gap=gap)
        unfinished.rename(self._directory / f"part-{number:06d}.npz")
        self._waiting, self._written = [], time.monotonic()

    def remove(self) -> None:
        """Delete the directory: the computation is complete."""
        shutil.rmtree(self._directory, ignore_errors=True)
