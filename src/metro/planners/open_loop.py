"""What methods without a world model have in common: they look at nothing."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

# One number, not none, so that arrays keep their shapes.
_NOTHING = np.zeros(1, dtype=np.float32)


class NoSelector:
    """Selects no target, and encodes no frame: for methods that act blindly."""

    @classmethod
    def for_query(cls, plan: Any, query: Any, seed: int) -> "NoSelector":
        """Return the selector of any query: a method's ``make_selector``."""
        return NoSelector()

    def __call__(self, observed: NDArray[Any], step: int) -> tuple[NDArray[Any], str]:
        """Return no target."""
        return _NOTHING, "none"

    def encode(self, frames: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return latents ``[B, 1]`` that are all zero."""
        return np.zeros((len(frames), 1), dtype=np.float32)
