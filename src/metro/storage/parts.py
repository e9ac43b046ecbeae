"""Finished parts of a long computation, kept on disk so that it can be resumed."""

import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Part = Mapping[str, NDArray[Any]]
"""Arrays by name, each with the same number of rows."""

_EVERY_SECONDS = 10.0


class Parts:
    """Parts in a directory of their own. Implements `metro.types.PartStore`.

    Parts are collected and written every ten seconds, under a temporary name first.

    Args:
        directory: Where to keep them; made when the first part is written.
    """

    def __init__(self, directory: str | Path) -> None:
        self._directory, self._key = Path(directory), ""
        self._waiting: list[Part] = []
        self._written = time.monotonic()

    def open(self, key: str) -> None:
        """Discard the parts that depend on anything but ``key``."""
        note = self._directory / "key.txt"
        if self._directory.exists() and (not note.exists() or note.read_text() != key):
            shutil.rmtree(self._directory)
        self._key = key

    def finished(self) -> Iterator[Part]:
        """Yield the parts that earlier runs finished, in the order of writing."""
        for file in sorted(self._directory.glob("part-*.npz")):
            with np.load(file) as part:
                yield dict(part)

    def add(self, part: Part) -> None:
        """Take a finished part; write those that wait if it is time."""
        self._waiting.append(part)
        if time.monotonic() - self._written > _EVERY_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write all parts that wait, as one."""
        if not self._waiting:
            return
        self._directory.mkdir(parents=True, exist_ok=True)
        (self._directory / "key.txt").write_text(self._key)
        number = len(list(self._directory.glob("part-*.npz")))
        whole = {
            name: np.concatenate([part[name] for part in self._waiting])
            for name in self._waiting[0]
        }
        unfinished = self._directory / "unfinished"
        with unfinished.open("wb") as stream:
            np.savez(stream, **whole)  # type: ignore[arg-type]
        unfinished.rename(self._directory / f"part-{number:06d}.npz")
        self._waiting, self._written = [], time.monotonic()

    def remove(self) -> None:
        """Delete the directory: the computation is complete."""
        shutil.rmtree(self._directory, ignore_errors=True)
