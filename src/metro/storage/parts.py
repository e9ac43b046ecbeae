"""Finished parts of a long computation, kept on disk so that it can be resumed.

Every part names the rows it holds, and ends with a digest of itself. Parts are right in
any order, twice or from several processes; a damaged one is as good as none.
"""

import hashlib
import shutil
import time
import warnings
from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.errors import StorageError, storage_errors
from metro.files import reading, require_regular_file
from metro.storage.atomic import write_atomically

Part = Mapping[str, NDArray[Any]]
"""Arrays by name, each with the same number of rows, one of them the rows' numbers."""

_KEY = "key.txt"
_FORMAT = "2 "
"""Begins every key: parts of earlier versions have no digest."""
_DIGEST = b"\nsha256 "
_DIGEST_BYTES = len(_DIGEST) + 64
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
        """Yield the parts that earlier runs finished, in any order.

        Damaged ones are deleted, with one warning for all of them.
        """
        files = sorted(self._directory.glob("part-*.npz"))
        whole = 0
        for file in files:
            part = read_arrays(file)
            if part is not None:
                whole += 1
                yield part
        warn_of_damage(self._directory, len(files) - whole)

    def add(self, part: Part) -> None:
        """Take a finished part; write those that wait if it is time."""
        self._waiting.append(part)
        if time.monotonic() - self._written > _EVERY_SECONDS:
            self.flush()

    def flush(self) -> None:
        """Write all parts that wait, as one."""
        if not self._waiting:
            return
        content = _to_bytes(
            {
                name: np.concatenate([part[name] for part in self._waiting])
                for name in self._waiting[0]
            }
        )
        # The key comes first: parts without a key are thrown away.
        mark(self._directory, self._key)
        # Named by its digest, so that no process overwrites the part of another.
        name = f"part-{content[-64:].decode()}.npz"
        with storage_errors(f"{self._directory} cannot be written"):
            write_atomically(self._directory / name, content)
        self._waiting = []
        self._written = time.monotonic()

    def remove(self) -> None:
        """Delete the directory: the computation is complete."""
        shutil.rmtree(self._directory, ignore_errors=True)


def discard_unless(directory: Path, key: str) -> None:
    """Delete a directory unless `mark` was called with the same ``key``."""
    # Half a computation with other settings must never be mixed in.
    if directory.exists() and not _is_marked(directory, key):
        with storage_errors(f"{directory} cannot be deleted"):
            shutil.rmtree(directory)


def mark(directory: Path, key: str) -> None:
    """Make a directory whose contents depend on ``key``."""
    with storage_errors(f"{directory} cannot be written"):
        directory.mkdir(parents=True, exist_ok=True)
        if not _is_marked(directory, key):
            write_atomically(directory / _KEY, f"{_FORMAT}{key}".encode())


def write_arrays(path: Path, arrays: Part) -> None:
    """Write arrays as ``.npz`` with a digest, whole or not at all."""
    write_atomically(path, _to_bytes(arrays))


def read_arrays(path: Path) -> dict[str, NDArray[Any]] | None:
    """Return what `write_arrays` wrote; a damaged file is deleted and None returned."""
    # Not deleted: what is no file was not written by us, and reading a pipe would wait.
    require_regular_file(path)
    content = without_digest(path.read_bytes())
    if content is None:
        path.unlink(missing_ok=True)
        return None
    with (
        reading(path, StorageError, "Delete it."),
        np.load(BytesIO(content), allow_pickle=False) as archive,
    ):
        return dict(archive)


def warn_of_damage(directory: Path, number: int) -> None:
    """Say that ``number`` parts were damaged, if there are any."""
    if number:
        warnings.warn(
            f"{number} of the parts in {directory} were damaged. They are deleted, "
            f"and made again.",
            RuntimeWarning,
            stacklevel=3,
        )


def with_digest(content: bytes) -> bytes:
    """Return content that `without_digest` can check."""
    return content + _DIGEST + hashlib.sha256(content).hexdigest().encode()


def has_digest(stored: bytes) -> bool:
    """Return whether something ends with a digest, be it right or wrong."""
    return stored[-_DIGEST_BYTES:].startswith(_DIGEST)


def without_digest(stored: bytes) -> bytes | None:
    """Return what `with_digest` was given; None: it was cut short or altered."""
    content = stored[:-_DIGEST_BYTES]
    return content if with_digest(content) == stored else None


def _to_bytes(arrays: Part) -> bytes:
    stream = BytesIO()
    np.savez(stream, **arrays)  # type: ignore[arg-type]
    return with_digest(stream.getvalue())


def _is_marked(directory: Path, key: str) -> bool:
    note = directory / _KEY
    return note.is_file() and note.read_bytes() == f"{_FORMAT}{key}".encode()
