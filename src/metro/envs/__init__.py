"""The worlds of the benchmarks: swm's environments behind one protocol."""

import atexit
from importlib import import_module
from typing import cast
from weakref import WeakSet

from metro.benchmark import Benchmark
from metro.envs.make import require_environment
from metro.envs.rendering import find_renderer
from metro.errors import WorldError
from metro.types import Env

_CLASSES = {
    "tworoom": "TwoRoom",
    "reacher": "Reacher",
    "pusht": "PushT",
    "cube": "Cube",
}
"""The class of each benchmark, in the module of this package that has its name."""

_opened: "WeakSet[Env]" = WeakSet()


def open_env(
    benchmark: Benchmark, *, image_size: int = 224, rendering: str = "stock"
) -> Env:
    """Return the world of a benchmark, ready to be reset or restored.

    Args:
        benchmark: Which one.
        image_size: Pixels along a side of its pictures; 224 as released.
        rendering: ``stock``, what released models saw, or ``fast``, where it exists.
    """
    check_drawing(benchmark, image_size, rendering)
    find_renderer(benchmark)  # before MuJoCo is imported, which makes its own choice
    require_environment(benchmark)
    module = import_module(f"{__name__}.{benchmark.name}")
    world_class = getattr(module, _CLASSES[benchmark.name])
    made = world_class(benchmark, image_size=image_size, rendering=rendering)
    _close_at_exit(made)
    return cast(Env, made)


def check_drawing(benchmark: Benchmark, image_size: int, rendering: str) -> None:
    """Raise `WorldError` if the world of ``benchmark`` cannot be drawn so."""
    if benchmark.name not in _CLASSES:
        raise WorldError(
            f"metro has no world for the benchmark {benchmark.name!r}. "
            f"It has {', '.join(_CLASSES)}."
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


def _close_at_exit(world: Env) -> None:
    """Close the world before MuJoCo's own exit, which ends what it is drawn with.

    Drawing contexts that are still there then complain on stderr. What was registered
    last is called first, and MuJoCo registers when the first context is made.
    """
    _opened.add(world)
    atexit.unregister(_close_opened)
    atexit.register(_close_opened)


def _close_opened() -> None:
    for world in list(_opened):
        world.close()
