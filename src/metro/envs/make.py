"""Making swm's environments."""

from typing import Any

from metro.benchmark import Benchmark
from metro.compat import import_swm
from metro.errors import WorldError


def make_environment(benchmark: Benchmark) -> Any:
    """Return the environment of a benchmark, without gymnasium's wrappers."""
    require_environment(benchmark)
    import gymnasium

    return gymnasium.make(benchmark.env_id, **benchmark.env_arguments).unwrapped


def require_environment(benchmark: Benchmark) -> None:
    """Raise `WorldError` if swm has no environment of that name."""
    import_swm()
    import gymnasium

    if benchmark.env_id not in gymnasium.registry:
        known = sorted(name for name in gymnasium.registry if name.startswith("swm/"))
        raise WorldError(
            f"There is no environment {benchmark.env_id!r}. stable_worldmodel has "
            f"{', '.join(known)}."
        )
