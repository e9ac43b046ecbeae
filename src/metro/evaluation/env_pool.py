"""Environments that queries share, because opening one can take a second."""

from collections.abc import Callable
from contextlib import suppress

from metro.types import Env


class EnvPool:
    """Environments of one benchmark, opened when they are first needed.

    Args:
        open_env: Opens one more.
    """

    def __init__(self, open_env: Callable[[], Env]) -> None:
        self._open_env = open_env
        self._envs: list[Env] = []

    def take(self, count: int) -> list[Env]:
        """Return ``count`` environments, the same ones every time."""
        while len(self._envs) < count:
            self._envs.append(self._open_env())
        return self._envs[:count]

    def discard(self, *envs: Env) -> None:
        """Close environments and do not use them again, also those that died."""
        for env in envs:
            self._envs.remove(env)
            with suppress(Exception):  # what died may not close either
                env.close()

    def close(self) -> None:
        """Close all of them."""
        # Unpacked into a tuple first, for the list shrinks meanwhile.
        self.discard(*self._envs)
