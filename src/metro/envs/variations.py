"""stable-worldmodel's spaces of random starts, used without their chatter."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_CHATTER = (
    ".*Casting input x to numpy array",  # a single number, checked against a space
    ".*precision lowered by casting",  # a space of float32 with bounds of float64
)


@contextmanager
def quiet_spaces() -> Iterator[None]:
    """Silence what gymnasium says of the way swm makes and uses its spaces."""
    with warnings.catch_warnings():
        for message in _CHATTER:
            warnings.filterwarnings("ignore", message=message)
        yield
