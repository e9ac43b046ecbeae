"""One writer at a time: locks that the kernel gives up when their process dies.

They are advisory (``flock``): they stop metro, also on other machines where the file
system shares them, but not other programs.
"""

import errno
import fcntl
import json
import os
import socket
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from io import BufferedRandom
from pathlib import Path

from metro.errors import StorageError, storage_errors

_NO_LOCKS = {
    errno.EBADF,  # network file systems, for directories
    errno.EINVAL,
    errno.ENOLCK,
    errno.ENOSYS,
    errno.ENOTSUP,
}


def try_lock(descriptor: int, *, wait: bool = False) -> bool | None:
    """Lock an open file or directory until it is closed or the process ends.

    Returns:
        Whether it is ours now; None where the file system has no locks.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        return None
    return True


@contextmanager
def opened_alone(path: Path) -> Iterator[BufferedRandom]:
    """Yield a file that no other process has open in this way; waits for its turn.

    It is opened for reading and writing, and made if it is missing.
    """
    while True:
        with _open(path) as file:
            if try_lock(file.fileno(), wait=True) is None:
                _warn_without_locks(path)
            if _is_still(path, file):
                yield file
                return


@contextmanager
def only_writer(path: str | Path, *, wait: bool = False) -> Iterator[None]:
    """Be the only process that makes ``path`` while a block of code runs.

    The lock is the file ``.NAME.lock`` beside ``path``, deleted at the end. It says who
    holds it; one that a killed process left behind is free.

    Args:
        path: A file or directory that takes long to make; its folder is made.
        wait: Wait for another writer, with a warning, instead of raising.

    Raises:
        StorageError: If another process makes it; the message says which.
    """
    place = Path(os.path.realpath(path))
    note = place.with_name(f".{place.name}.lock")
    with storage_errors(f"{path} cannot be written"):
        place.parent.mkdir(parents=True, exist_ok=True)
        file = _hold(note, path, wait=wait)
    try:
        yield
    finally:
        # Deleted while it is still ours, and not what others hold by now.
        if _is_still(note, file):
            note.unlink()
        file.close()


def _hold(note: Path, path: str | Path, *, wait: bool) -> BufferedRandom:
    """Return the lock file of ``path``, locked and signed."""
    while True:
        file = _open(note)
        is_ours = try_lock(file.fileno())
        if is_ours is None:
            _warn_without_locks(note)
        elif not is_ours:
            other = f"{path} is being written by {_who(file)}"
            if not wait:
                file.close()
                raise StorageError(f"{other}. Wait for it, or choose another name.")
            warnings.warn(
                f"{other}; waiting for it. To work at the same time, choose another "
                f"name.",
                RuntimeWarning,
                stacklevel=4,
            )
            try_lock(file.fileno(), wait=True)
        if _is_still(note, file):
            break
        file.close()
    since = datetime.now().astimezone().isoformat(" ", "seconds")
    signed = {"process": os.getpid(), "host": socket.gethostname(), "since": since}
    file.truncate(file.seek(0))
    file.write(json.dumps(signed).encode())
    file.flush()
    return file


def _open(path: Path) -> BufferedRandom:
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b")


def _is_still(path: Path, file: BufferedRandom) -> bool:
    """Return whether ``path`` is this very file: it may have been deleted meanwhile."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(file.fileno()))
    except FileNotFoundError:
        return False


def _who(file: BufferedRandom) -> str:
    try:
        signed = json.loads(file.read())
        return "process {process} on {host} since {since}".format(**signed)
    # It was locked a moment ago, and is not signed yet.
    except (ValueError, KeyError, TypeError):
        return "another process"


def _warn_without_locks(path: Path) -> None:
    warnings.warn(
        f"The file system of {path.parent} has no locks. See to it yourself that "
        f"nothing else writes there.",
        RuntimeWarning,
        stacklevel=4,
    )
