"""Every error that metro raises on purpose.

::

    MetroError
    ├── LatentsError   (ValueError)  arrays that cannot be latents or a goal
    ├── PricingError   (ValueError)  a curve that cannot be fitted or asked
    ├── GraphError     (ValueError)  tables, frames, episodes that do not fit
    ├── StorageError   (ValueError)  files that cannot be written or trusted
    ├── BenchmarkError (ValueError)  a benchmark, recipe or setting nobody knows
    ├── WorldError     (ValueError)  a simulator or camera that does not work
    ├── CorpusError    (ValueError)  recordings that cannot be read or do not fit
    ├── ModelError     (ValueError)  a world model that cannot be loaded or used
    └── MissingExtra   (ImportError) an optional dependency that is absent

A message says what is wrong, what we got, and what to do, in one line. Outcomes of
the algorithm (no route, outside the radius) are values of ``SubGoal.kind`` instead.
"""

from collections.abc import Iterator
from contextlib import contextmanager

_LONGEST = 300
"""Characters of what a message quotes; paths are shorter."""


def short(digest: object) -> str:
    """Return the start of a digest, as messages show it."""
    return str(digest)[:12]


def shortened(text: str) -> str:
    """Return a text without line breaks, its middle left out where it is long.

    Damaged files and their readers quote themselves, to any length.
    """
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:150]} ... {line[-100:]}"


def one_line(error: BaseException) -> str:
    """Return the text of an error without line breaks, or its name.

    Of an error of the system, without its number: ``No such file or directory: a/b``.
    """
    text = str(error)
    if isinstance(error, OSError) and error.strerror:
        place = "" if error.filename is None else f": {error.filename}"
        # h5py puts several lines here.
        text = f"{error.strerror}{place}"
    return shortened(text).rstrip(".") or type(error).__name__


class MetroError(Exception):
    """Any error metro raises on purpose; the command line prints it in one line."""


class LatentsError(MetroError, ValueError):
    """Arrays that cannot be latents, a goal or an observation."""


class PricingError(MetroError, ValueError):
    """A pricing curve that cannot be fitted, or a gap that has no price."""


class GraphError(MetroError, ValueError):
    """Tables, frames, episodes or counts that do not fit the corpus."""


class StorageError(MetroError, ValueError):
    """Files that cannot be written, read or trusted."""


class BenchmarkError(MetroError, ValueError):
    """A benchmark, a recipe or a setting of one that nobody knows."""


class WorldError(MetroError, ValueError):
    """A simulator or a camera that does not work, or is used wrongly."""


class CorpusError(MetroError, ValueError):
    """Recordings that cannot be read, or that do not fit what they are used for."""


class ModelError(MetroError, ValueError):
    """A world model that cannot be loaded, trusted or used for this."""


class MissingExtra(MetroError, ImportError):
    """An optional dependency that is not installed."""


@contextmanager
def storage_errors(what: str) -> Iterator[None]:
    """Turn errors of the operating system into a `StorageError` that says ``what``."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"{what}: {one_line(error)}.") from error
