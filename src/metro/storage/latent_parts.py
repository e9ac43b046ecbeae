"""Latents of a corpus that is being encoded, kept in case it is interrupted."""

import json
import os
import shutil
import time
from pathlib import Path

import numpy as np

from metro.types import LatentArray

_EVERY_SECONDS = 10.0


class LatentParts:
    """Latents of finished episodes in a directory, a file for every ten seconds.

    Used as a context, it writes what waits when the block is left, however it is left.

    Args:
        directory: Made when the first part is written.
        key: What the latents depend on; parts of another key are thrown away.
    """

    def __init__(self, directory: Path, key: dict[str, str]) -> None:
        self._directory, self._key = directory, json.dumps(key, sort_keys=True)
        note = directory / "key.json"
        if directory.exists() and (not note.exists() or note.read_text() != self._key):
            shutil.rmtree(directory)
        self._written = [np.load(file) for file in sorted(directory.glob("part-*.npy"))]
        self._waiting: list[LatentArray] = []
        self.num_rows = sum(len(part) for part in self._written)
        self._last = time.monotonic()

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self._flush()

    def add(self, z: LatentArray) -> None:
        """Take the latents of the next episode; write those that wait if it is time."""
        self._waiting.append(z)
        self.num_rows += len(z)
        if time.monotonic() - self._last > _EVERY_SECONDS:
            self._flush()

    def rows(self) -> LatentArray:
        """Return all latents, ``[N, D]``."""
        return np.concatenate([*self._written, *self._waiting])

    def remove(self) -> None:
        """Delete the directory: the latents are written."""
        shutil.rmtree(self._directory, ignore_errors=True)

    def _flush(self) -> None:
        if not self._waiting:
            return
        self._directory.mkdir(parents=True, exist_ok=True)
        (self._directory / "key.json").write_text(self._key)
        part = np.concatenate(self._waiting)
        unfinished = self._directory / "unfinished.npy"
        np.save(unfinished, part)
        os.replace(unfinished, self._directory / f"part-{len(self._written):06d}.npy")
        self._written.append(part)
        self._waiting, self._last = [], time.monotonic()
