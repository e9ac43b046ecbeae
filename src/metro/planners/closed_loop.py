"""The closed loop: observe, choose a target, plan, act, until the goal or the budget.

All queries of a batch go in step, so that the encoder and the micro planner see them
together; each has a world and random numbers of its own.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from metro.types import Env, Image, Progress, StateColumns, Vector


class SubgoalSelector(Protocol):
    """Tells one query, before every micro plan, which latent to head for."""

    def __call__(self, observed: Vector, step: int) -> tuple[Vector, str]:
        """Return the target ``[D]`` and a word for why, ``step`` frames after start."""
        ...


class MicroPlanner(Protocol):
    """Encoder and micro planner of a batch of queries."""

    def encode(self, frames: NDArray[np.uint8]) -> NDArray[np.float32]:
        """Return latents ``[B, D]`` of frames ``[B, S, S, 3]``."""
        ...

    def plan(
        self, observed: NDArray[Any], target: NDArray[Any], queries: Sequence[int]
    ) -> NDArray[np.float32]:
        """Return raw actions ``[B, frames, A]`` to be executed one after another."""
        ...


@dataclass
class Rollout:
    """One query in its world.

    Attributes:
        world: At the start, aimed at the goal.
        first: The recorded frame to start from, as the published protocol gives it.
        guide: Which latent to head for.
        is_presolved: Whether the start already meets the goal.
        frames_to_success: Environment steps until the goal was met; None: never.
        kinds: How often each word of the guide came.
        path: The columns of every moment, if asked for.
        pictures: Its pictures, if asked for.
        error: What the world died of; None: it did not.
    """

    world: Env
    first: Image
    guide: SubgoalSelector
    is_presolved: bool
    frames_to_success: int | None = None
    kinds: Counter[str] = field(default_factory=Counter)
    path: list[StateColumns] = field(default_factory=list)
    pictures: list[Image] = field(default_factory=list)
    error: str | None = None

    @property
    def is_over(self) -> bool:
        """Whether the goal was met, or the world died."""
        return self.frames_to_success is not None or self.error is not None


@dataclass
class Seconds:
    """Wall time of a batch, by what it was spent on.

    Attributes:
        draw: Pictures of the world.
        encode: Pictures to latents.
        search: Routes to the goals, once a query; not part of the loop below.
        entry: From an observation to a target: entering the graph and walking.
        plan: The micro planner.
        step: The world.
    """

    draw: float = 0.0
    encode: float = 0.0
    search: float = 0.0
    entry: float = 0.0
    plan: float = 0.0
    step: float = 0.0

    @contextmanager
    def of(self, phase: str) -> Iterator[None]:
        """Add the time of a block of code to a phase."""
        started = time.perf_counter()
        yield
        spent = time.perf_counter() - started
        setattr(self, phase, getattr(self, phase) + spent)


def run_rollouts(
    attempts: Sequence[Rollout],
    actor: MicroPlanner,
    *,
    step_budget: int,
    record: bool = False,
    progress: Progress | None = None,
) -> Seconds:
    """Act until every attempt has met its goal or used its budget; fill them in.

    Success latches: a query that met its goal is left as it is. A start that is already
    solved counts as solved after 1 step at the earliest, as in the published protocol.
    A world that dies marks its attempt; the others go on.

    Paper: Alg. 1. Decision: D13.

    Args:
        attempts: Queries at their starts.
        actor: Encoder and micro planner.
        step_budget: T, environment steps.
        record: Keep the columns and pictures of every moment.
        progress: Called with (steps, step_budget).
    """
    seconds = Seconds()
    step = 0
    live = list(range(len(attempts)))
    while live and step < step_budget:
        with seconds.of("draw"):
            seen = {query: _look(attempts[query], step) for query in live}
        live = [query for query in live if not attempts[query].is_over]
        if not live:
            break
        frames = np.stack([seen[query] for query in live])
        with seconds.of("encode"):
            observed = actor.encode(frames)
        with seconds.of("entry"):
            targets = _targets([attempts[query] for query in live], observed, step)
        with seconds.of("plan"):
            plans = actor.plan(observed, targets, live)[:, : step_budget - step]
        with seconds.of("step"):
            for query, actions in zip(live, plans, strict=True):
                _execute(attempts[query], actions, step, record=record)
        step += plans.shape[1]
        live = [query for query in live if not attempts[query].is_over]
        if progress is not None:
            progress(step, step_budget)
    return seconds


def _targets(
    attempts: Sequence[Rollout], observed: NDArray[np.float32], step: int
) -> NDArray[Any]:
    """Ask every guide; return the targets ``[B, D]`` and count their kinds."""
    targets = []
    for attempt, latent in zip(attempts, observed, strict=True):
        target, kind = attempt.guide(latent, step)
        attempt.kinds[kind] += 1
        targets.append(target)
    return np.stack(targets)


def _look(attempt: Rollout, step: int) -> Image:
    if step > 0:
        with surviving(attempt):
            return attempt.world.render()
    return attempt.first


@contextmanager
def surviving(attempt: Rollout) -> Iterator[None]:
    """Mark the attempt if its world fails inside; simulators raise all sorts."""
    try:
        yield
    except Exception as error:
        attempt.error = f"{type(error).__name__}: {error}"


def _execute(
    attempt: Rollout, actions: NDArray[np.float32], step: int, *, record: bool
) -> None:
    """Act one action after another; stop where the goal is met."""
    with surviving(attempt):
        for number, action in enumerate(actions):
            solved = attempt.world.step(action)
            if record:
                attempt.path.append(attempt.world.get_state())
                attempt.pictures.append(attempt.world.render())
            if solved:
                attempt.frames_to_success = step + number + 1
                return
