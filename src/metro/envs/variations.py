"""stable-worldmodel's spaces of random starts, used without their warnings."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_NOISE = (
    ".*Casting input x to numpy array",  # a single number, checked against a space
    ".*precision lowered by casting",  # a space of float32 with bounds of float64
)


@contextmanager
def quiet_spaces() -> Iterator[None]:
    """Silence gymnasium's warnings about how swm makes and uses its spaces."""
    with warnings.catch_warnings():
        for message in _NOISE:
            warnings.filterwarnings("ignore", message=message)
        yield
