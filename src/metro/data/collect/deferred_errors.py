"""A file for HDF5 to write to, which fails once and plainly."""

import os
from pathlib import Path
from typing import Self


class DeferredErrorFile:
    """A file whose first failure is kept for `check`; later writes are dropped.

    HDF5 must never see a failing write: it keeps dirty metadata, fails again at every
    object that is closed afterwards, prints a stack for each, and a file that cannot
    be closed can end the process. Checking free space first does not help on a disk
    that others fill, or under a quota.
    """

    def __init__(self, file: Path) -> None:
        self._stream = file.open("w+b", buffering=0)
        self._error: OSError | None = None

    def check(self) -> None:
        """Raise the first failure, if there was one."""
        if self._error is not None:
            raise self._error

    def write(self, block: memoryview) -> int:
        """Return the length of ``block``, written or not."""
        view = memoryview(block).cast("B")
        written = 0
        try:
            while self._error is None and written < len(view):
                written += self._stream.write(view[written:])
        except OSError as error:
            self._error = error
        return len(view)

    def read(self, size: int = -1) -> bytes:
        """Return bytes read back; h5py knows a file by this method."""
        return self._stream.read(size) or b""

    def readinto(self, block: memoryview) -> int:
        """Return how many bytes were read back."""
        return self._stream.readinto(block) or 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Return the new position."""
        return self._stream.seek(offset, whence)

    def tell(self) -> int:
        """Return the position."""
        return self._stream.tell()

    def truncate(self, size: int | None = None) -> int:
        """Return the length, cut or extended to it."""
        try:
            return self._stream.truncate(size)
        except OSError as error:
            self._error = self._error or error
            return size or 0

    def flush(self) -> None:
        """Do nothing: nothing is held back."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        try:
            if error is None:
                self.check()
                os.fsync(self._stream.fileno())
        finally:
            self._stream.close()
