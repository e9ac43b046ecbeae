"""Finished parts of a long computation, kept on disk so that it can be resumed."""

import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.storage.atomic import write_atomically

Part = Mapping[str, NDArray[Any]]
"""Arrays by name, each with the same number of rows."""

_KEY = "key.txt"
_EVERY_SECONDS = 10.0
"""Between two writes: what a kill may cost, against a file for every small part."""


class Parts:
    """Parts in a directory of their own. Implements `metro.types.PartStore`.

    Used as a context, it writes the parts that wait when the block is left, also by an
    error or Ctrl-C.

    Args:
        directory: Where to keep the parts; made when the first one is written.
        key: What the parts depend on; see `open`.
    """

    def __init__(self, directory: str | Path, key: str = "") -> None:
        self._directory = Path(directory)
        self._waiting: list[Part] = []
        self._written = time.monotonic()
        self._key = key
        if key:
            self.open(key)

    def __enter__(self) -> "Parts":
        return self

    def __exit__(self, *_: object) -> None:
        self.flush()

    def open(self, key: str) -> None:
        """Discard the parts that depend on anything but ``key``."""
        discard_unless(self._directory, key)
        self._key = key

    def finished(self) -> Iterator[Part]:
        """Yield the parts that earlier runs finished, in the order of writing."""
        for file in self._files():
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
        whole = {
            name: np.concatenate([part[name] for part in self._waiting])
            for name in self._waiting[0]
        }
        # The key comes first: parts without a key are thrown away.
        mark(self._directory, self._key)
        file = self._directory / f"part-{len(self._files()):06d}.npz"
        write_atomically(file, lambda place: save_arrays(place, whole))
        self._waiting = []
        self._written = time.monotonic()

    def remove(self) -> None:
        """Delete the directory: the computation is complete."""
        shutil.rmtree(self._directory, ignore_errors=True)

    def _files(self) -> list[Path]:
        return sorted(self._directory.glob("part-*.npz"))


def discard_unless(directory: Path, key: str) -> None:
    """Delete a directory unless `mark` was called with the same ``key``."""
    note = directory / _KEY
    # Half a computation with other settings must never be mixed in.
    if directory.exists() and (not note.exists() or note.read_text() != key):
        shutil.rmtree(directory)


def mark(directory: Path, key: str) -> None:
    """Make a directory whose contents depend on ``key``."""
    directory.mkdir(parents=True, exist_ok=True)
    (directory / _KEY).write_text(key)


def save_arrays(path: Path, arrays: Part) -> None:
    """Write arrays as ``.npz`` to exactly this path; NumPy would add an ending."""
    with path.open("wb") as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]
