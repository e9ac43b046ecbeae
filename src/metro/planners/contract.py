"""What a micro planner must keep to; users find the check in `metro.testing`."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.errors import BenchmarkError
from metro.planners.closed_loop import MicroPlanner


def check_micro_planner(
    planner: MicroPlanner, frames: NDArray[np.uint8] | None = None
) -> None:
    """Raise one `BenchmarkError` that lists what keeps ``planner`` from the loop.

    The planner is called as the closed loop calls it: all queries together, then some
    of them. Its random numbers are used up by that; check one that you do not need.

    Args:
        planner: Made for at least 2 queries; see `MicroPlanner`.
        frames: ``[2, S, S, 3]`` uint8, as its encoder takes them. None: random ones of
            64 pixels.
    """
    if frames is None:
        rng = np.random.default_rng(0)
        frames = rng.integers(0, 256, (2, 64, 64, 3), dtype=np.uint8)
    missing = [name for name in ("encode", "plan") if not hasattr(planner, name)]
    wrong = [f"no method {name}" for name in missing] or list(
        _problems(planner, frames)
    )
    if wrong:
        listed = "\n".join(f"- {line}" for line in wrong)
        name = type(planner).__name__
        raise BenchmarkError(f"{name} is no micro planner yet:\n{listed}")


def _problems(planner: MicroPlanner, frames: NDArray[np.uint8]) -> Iterator[str]:
    observed = planner.encode(frames)
    if np.ndim(observed) != 2 or len(observed) != len(frames):
        shape = list(np.shape(observed))
        yield f"encode must return [{len(frames)}, D], got {shape}"
        return
    # A copy, for torch takes no negative strides.
    both = planner.plan(observed, observed[::-1].copy(), [0, 1])
    yield from _plan_problems(both, 2)
    # Queries that have met their goal drop out, whatever their number was.
    yield from _plan_problems(planner.plan(observed[1:], observed[:1], [1]), 1)


def _plan_problems(actions: Any, queries: int) -> Iterator[str]:
    if np.ndim(actions) != 3 or len(actions) != queries or np.shape(actions)[1] < 1:
        yield (
            f"plan for {queries} queries must return [{queries}, frames, A] with at "
            f"least 1 frame, got {list(np.shape(actions))}"
        )
    elif not np.isfinite(actions).all():
        yield "plan returns actions that are not finite"
