"""The one decorator of all kernels: compiled by Numba, kept on disk if that works.

Numba's own cache stops the program at a damaged, unwritable or full folder, and does
not see that a function which a kernel calls has changed. Ours is sealed with digests,
knows the whole source of the kernels, and compiles again, with one warning, whatever is
wrong with it.
"""

import hashlib
import pickle
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numba
from numba import njit
from numba.core import config
from numba.core.caching import FunctionCache, IndexDataCacheFile

_DIGEST_BYTES = hashlib.sha256().digest_size
_warnings: list[str] = []
"""The warnings of this process: the first is shown, the others say the same."""


def compiled(*, cached=False, fastmath=False):
    """Return a decorator that compiles a function without the interpreter's lock.

    Args:
        cached: Keep the code on disk; for functions that Python calls.
        fastmath: Numba's flags on the order of floating point operations.
    """

    def compile_function(function):
        dispatcher = njit(nogil=True, fastmath=fastmath)(function)
        # Under NUMBA_DISABLE_JIT there is nothing to keep.
        if cached and dispatcher is not function:
            try:
                dispatcher._cache = _KernelCache(function)
            except (RuntimeError, OSError) as error:
                _warn(error)
        return dispatcher

    return compile_function


class _KernelCache(FunctionCache):
    """The compiled forms of one kernel; it never raises, whatever lies on disk."""

    def __init__(self, function):
        super().__init__(function)
        # Versions and checked code lie beside each other: none is taken for damage.
        checked = "-checked" if config.BOUNDSCHECK else ""
        name = f"{self._impl.filename_base}-{numba.__version__}{checked}"
        self._cache_file = _SealedFile(self._cache_path, name, _source_digest())

    def load_overload(self, sig, target_context):
        """Return the code for a signature; None: it must be compiled."""
        try:
            return super().load_overload(sig, target_context)
        # Anything: this unpickles what a full disk or another version left behind.
        except Exception as error:
            _warn(error, self._cache_path)
            with suppress(OSError):
                self.flush()
            return None

    def save_overload(self, sig, data):
        """Keep the code for a signature, if the folder takes it."""
        try:
            super().save_overload(sig, data)
        except Exception as error:
            _warn(error, self._cache_path)


class _SealedFile(IndexDataCacheFile):
    """The files of one kernel, each followed by the sha256 of what it holds."""

    def _dump(self, obj):
        body = super()._dump(obj)
        return body + hashlib.sha256(body).digest()

    def _save_index(self, overloads):
        with self._open_for_write(self._index_path) as file:
            file.write(self._dump((self._source_stamp, overloads)))

    def _load_index(self):
        try:
            stamp, overloads = _read_sealed(self._index_path)
        except FileNotFoundError:
            return {}
        return overloads if stamp == self._source_stamp else {}

    def _load_data(self, name):
        return _read_sealed(self._data_path(name))


def _read_sealed(path: str) -> Any:
    file = Path(path)
    # Reading a pipe would wait for a writer.
    if file.exists() and not file.is_file():
        raise ValueError(f"{file.name} is no file")
    content = file.read_bytes()
    body, digest = content[:-_DIGEST_BYTES], content[-_DIGEST_BYTES:]
    # Before unpickling: altered machine code would crash, or compute something else.
    if hashlib.sha256(body).digest() != digest:
        raise ValueError(f"{file.name} is damaged")
    return pickle.loads(body)


@cache
def _source_digest() -> str:
    """Return the sha256 of all kernels: they are compiled into one another."""
    summary = hashlib.sha256()
    for file in sorted(Path(__file__).parent.rglob("*.py")):
        summary.update(file.read_bytes())
    return summary.hexdigest()


def _warn(error: Exception, folder: str | None = None) -> None:
    _warnings.append(" ".join(str(error).split()) or type(error).__name__)
    if len(_warnings) == 1:
        place = "" if folder is None else f" in {folder}"
        warnings.warn(
            f"The cache of compiled kernels{place} cannot be used: {_warnings[0]}. "
            f"They are compiled now, which takes up to a minute. If this returns, set "
            f"NUMBA_CACHE_DIR to a folder with free space that you may write to.",
            RuntimeWarning,
            stacklevel=2,
        )
