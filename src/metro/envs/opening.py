"""Opens the environment of a benchmark.

The module ``metro.envs.NAME`` belongs to the benchmark NAME; its constant ``ENV`` is
the class that implements `metro.types.Env`.
"""

import atexit
from importlib import import_module
from importlib.util import find_spec
from weakref import WeakSet

from metro.benchmark import Benchmark, benchmark_names
from metro.envs.make import require_environment
from metro.envs.rendering import find_renderer
from metro.errors import WorldError
from metro.types import Env

_opened: "WeakSet[Env]" = WeakSet()


def open_env(
    benchmark: Benchmark, *, image_size: int = 224, rendering: str = "stock"
) -> Env:
    """Return the environment of a benchmark, ready to be reset or set to a state.

    Args:
        benchmark: The benchmark whose environment is opened.
        image_size: Pixels along a side of its pictures; 224 as released.
        rendering: ``stock``, what released models saw, or ``fast``, where it exists.
    """
    check_drawing(benchmark, image_size, rendering)
    # Before the module imports MuJoCo, which otherwise makes a choice of its own.
    find_renderer(benchmark)
    require_environment(benchmark)
    module = import_module(_module_name(benchmark))
    env: Env = module.ENV(benchmark, image_size=image_size, rendering=rendering)
    _close_at_exit(env)
    return env


def check_drawing(benchmark: Benchmark, image_size: int, rendering: str) -> None:
    """Raise `WorldError` if the environment cannot be drawn like this."""
    if find_spec(_module_name(benchmark)) is None:
        known = [name for name in benchmark_names() if find_spec(f"metro.envs.{name}")]
        raise WorldError(
            f"metro has no environment for the benchmark {benchmark.name!r}. "
            f"It has {', '.join(known)}."
        )
    if rendering not in benchmark.renderings:
        raise WorldError(
            f"{benchmark.name} cannot be rendered {rendering!r}. "
            f"It can be rendered {' or '.join(benchmark.renderings)}."
        )
    if not 8 <= image_size <= 224:
        raise WorldError(
            f"image_size must be 8 to 224 pixels, got {image_size}. "
            f"Released models take 224, small ones 64."
        )


def _module_name(benchmark: Benchmark) -> str:
    return f"metro.envs.{benchmark.name}"


def _close_at_exit(env: Env) -> None:
    """Close an environment before MuJoCo's own exit, which ends its renderer.

    Drawing contexts that are still there then complain on stderr. What was registered
    last is called first, and MuJoCo registers when the first context is made.
    """
    _opened.add(env)
    atexit.unregister(_close_opened)
    atexit.register(_close_opened)


def _close_opened() -> None:
    for env in list(_opened):
        env.close()
