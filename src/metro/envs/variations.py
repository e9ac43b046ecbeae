"""stable-worldmodel's spaces of random starts, used without their warnings."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_NOISE = (
    # swm checks single numbers against spaces of arrays.
    ".*Casting input x to numpy array",
    # swm gives bounds in float64 to spaces of float32.
    ".*precision lowered by casting",
)


@contextmanager
def quiet_spaces() -> Iterator[None]:
    """Silence gymnasium's warnings about how swm makes and uses its spaces."""
    with warnings.catch_warnings():
        for message in _NOISE:
            warnings.filterwarnings("ignore", message=message)
        yield
