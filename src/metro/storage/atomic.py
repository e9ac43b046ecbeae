"""Where an artefact lies, and how one directory takes the place of another.

A writer fills the hidden sibling ``.NAME.HOST.PID.RANDOM`` (the new directory, complete
once it has a manifest), and keeps it locked. To replace, it renames NAME to the same
name with ``.old``, then the new directory to NAME, and deletes the old one. Killed
between the renames, it leaves the old and the complete new directory but no NAME: only
then is the old one read. The second rename takes the new directory away, so that from
there on the old one is rubbish, and deleting NAME deletes it for good.
"""

import os
import re
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from metro.errors import StorageError, storage_errors
from metro.storage.layout import LAYOUT
from metro.storage.lock import try_lock
from metro.storage.manifest import MANIFEST, parse_manifest

_ROUNDS = 10
"""Looks for an artefact that a writer may be moving at this moment."""

_DEAD_AFTER_SECONDS = 86_400
"""No writer needs a day between two files."""


def resolve(path: str | Path) -> Path:
    """Return ``path`` with links followed: what a link points to is replaced."""
    return Path(os.path.realpath(path))


def find(path: Path) -> Path | None:
    """Return where the artefact ``path`` lies now; None if there is none.

    The old directory counts only while NAME is missing and the new one is complete.
    """
    # A writer may move the artefact between two looks at the directory, so that one
    # look that finds nothing proves nothing.
    for _ in range(_ROUNDS):
        if path.exists() or path.is_symlink():
            return path
        siblings = _siblings(path)
        for new in siblings:
            if (new / MANIFEST).is_file() and _old(new).is_dir():
                return _old(new)
        if not siblings and not path.exists():
            break
    return None


def require_writable(path: Path, *, force: bool) -> None:
    """Raise `StorageError` if ``path`` holds something that must not be replaced."""
    with storage_errors(f"{path} cannot be written"):
        current = find(resolve(path))
        if current is None and not path.is_symlink():
            return
        if not force:
            raise StorageError(
                f"{path} exists already. Replace it with force=True (--force)."
            )
        objection = None if current is None else _objection(current)
    if objection is not None:
        raise StorageError(
            f"{path} {objection}; it will not be replaced, not even by force. "
            f"Move that away or choose another name."
        )


@contextmanager
def replacement(path: Path, *, force: bool) -> Iterator[Path]:
    """Yield a hidden directory that takes the place of ``path`` if the block succeeds.

    If it fails, ``path`` is as it was and the hidden directory is gone.
    """
    new, lock = _make_locked(path)
    try:
        # mkdtemp makes directories that only their owner reads.
        new.chmod(0o755)
        yield new
        _put_in_place(new, path, force=force)
    finally:
        if path.exists() or not _old(new).exists():
            _discard(new)
            _discard(_old(new))
        os.close(lock)


def remove_leftovers(path: Path) -> None:
    """Delete what writers left behind when they were killed."""
    in_use = find(path)
    for new in _siblings(path):
        if _old(new) != in_use and _is_dead(new):
            _discard(new)
            _discard(_old(new))


def write_atomically(
    path: str | Path, content: bytes | Callable[[Path], object]
) -> None:
    """Write a file, whole or not at all; a file that is there is replaced.

    Args:
        path: The file; its folder must exist.
        content: The bytes of the file, or a function that writes it to the path it is
            given, ``PATH.unfinished``.
    """
    path = Path(path)
    # Always the same name, so that what a killed process leaves is overwritten by the
    # next attempt instead of filling the disk.
    unfinished = path.with_name(f"{path.name}.unfinished")
    try:
        # Not written into: it may be a link to another file, or a pipe.
        unfinished.unlink(missing_ok=True)
        if isinstance(content, bytes):
            unfinished.write_bytes(content)
        else:
            content(unfinished)
        # The bytes must reach the disk before the name does: after a power cut, a
        # renamed file may be empty otherwise.
        sync(unfinished)
        os.replace(unfinished, path)
    finally:
        unfinished.unlink(missing_ok=True)


def sync(path: Path) -> None:
    """Make a file, or the names in a directory, durable."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _put_in_place(new: Path, path: Path, *, force: bool) -> None:
    # Writing took a while: somebody else may have come first.
    require_writable(path, force=force)
    current = find(path) if force else None
    try:
        if current is not None:
            current.rename(_old(new))
        new.rename(path)
    finally:
        if _old(new).exists() and not path.exists():
            _old(new).rename(path)
    sync(path.parent)


def _siblings(path: Path) -> list[Path]:
    """Return the new directories of all writers, also where only the old is left."""
    if not path.parent.is_dir():
        return []
    pattern = re.compile(
        re.escape(f".{path.name}.") + r"(?P<writer>[^.]+\.\d+\.\w+)(\.old)?"
    )
    found = map(pattern.fullmatch, os.listdir(path.parent))
    names = {f".{path.name}.{match['writer']}" for match in found if match}
    return [path.with_name(name) for name in sorted(names)]


def _old(new: Path) -> Path:
    return new.with_name(f"{new.name}.old")


def _discard(directory: Path) -> None:
    """Delete a directory, its manifest first: half of it is never taken for whole."""
    with suppress(OSError):
        (directory / MANIFEST).unlink()
    shutil.rmtree(directory, ignore_errors=True)


def _host() -> str:
    return socket.gethostname().replace(".", "-")


def _make_locked(path: Path) -> tuple[Path, int]:
    """Return a hidden directory beside ``path``, and its descriptor, which locks it."""
    # Beside the artefact, since a rename is atomic inside one file system only; with
    # host and process, which decide where nothing can be locked.
    prefix = f".{path.name}.{_host()}.{os.getpid()}."
    while True:
        new = Path(tempfile.mkdtemp(prefix=prefix, dir=path.parent))
        with suppress(FileNotFoundError):
            lock = os.open(new, os.O_RDONLY)
            # Somebody who removes leftovers may have come between.
            if try_lock(lock) is not False and new.exists():
                return new, lock
            os.close(lock)


def _is_dead(new: Path) -> bool:
    """Return whether the writer of a directory has ended: nobody locks it."""
    try:
        lock = os.open(new, os.O_RDONLY)
    except FileNotFoundError:
        # It is in place already; only the old directory is left to delete.
        return True
    try:
        is_free = try_lock(lock)
        return _seems_dead(new) if is_free is None else is_free
    finally:
        os.close(lock)


def _seems_dead(new: Path) -> bool:
    """Return whether a writer has ended, where the file system has no locks."""
    if time.time() - new.stat().st_mtime > _DEAD_AFTER_SECONDS:
        return True
    host, pid, _ = new.name.rsplit(".", 3)[1:]
    # On a shared disk, process numbers of other machines mean nothing here.
    if host != _host():
        return False
    try:
        os.kill(int(pid), 0)
    except (ProcessLookupError, OverflowError):
        return True
    except PermissionError:
        # The process is alive and belongs to another user.
        return False
    return False


def _objection(path: Path) -> str | None:
    """Return why ``path`` must not be replaced; None if metro wrote all of it."""
    foreign = "exists and is not a metro artefact"
    if not path.is_dir() or not (path / MANIFEST).is_file():
        return foreign
    named = set(LAYOUT)
    try:
        manifest = parse_manifest((path / MANIFEST).read_bytes())
    except ValueError:
        # A damaged manifest must not make an artefact irreplaceable: the names of its
        # files decide then.
        manifest = {"format": "metro-"}
    if not isinstance(manifest, dict):
        return foreign
    if not str(manifest.get("format")).startswith("metro-"):
        return foreign
    # A newer format may have arrays that this version does not know.
    if isinstance(manifest.get("arrays"), dict):
        named |= set(manifest["arrays"])
    known = {MANIFEST, *(f"{name}.npy" for name in named)}
    extra = sorted(set(os.listdir(path)) - known)
    return f"holds {extra[0]}, which metro did not write" if extra else None
