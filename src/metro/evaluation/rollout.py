"""Queries in their environments: stepped by the closed loop until goal or budget.

All queries of a batch are planned in step, so that the encoder and the micro planner
see them together.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from metro.planners.closed_loop import (
    ClosedLoop,
    MicroPlanner,
    Seconds,
    SubgoalSelector,
)
from metro.types import Env, Image, Progress, StateColumns, Vector


@dataclass
class Rollout:
    """One query in its environment.

    Attributes:
        env: At the start, aimed at the goal.
        first: The recorded frame to start from, as the published protocol gives it.
        selector: Which latent to head for.
        is_presolved: Whether the start already meets the goal.
        frames_to_success: Environment steps until the goal was met; None: never.
        kinds: How often the selector gave each word.
        path: The state columns after every step, if they are recorded.
        pictures: The frames after every step, if they are recorded.
        error: What the environment died of; None: it did not.
    """

    env: Env
    first: Image
    selector: SubgoalSelector
    is_presolved: bool
    frames_to_success: int | None = None
    kinds: Counter[str] = field(default_factory=Counter)
    path: list[StateColumns] = field(default_factory=list)
    pictures: list[Image] = field(default_factory=list)
    error: str | None = None

    def first_selector(self, observed: Vector) -> SubgoalSelector:
        """Return the selector, which was made before the first observation."""
        return self.selector

    @property
    def is_over(self) -> bool:
        """Whether the goal was met, or the environment died."""
        return self.frames_to_success is not None or self.error is not None


def run_rollouts(
    rollouts: Sequence[Rollout],
    planner: MicroPlanner,
    *,
    step_budget: int,
    record: bool = False,
    progress: Progress | None = None,
) -> Seconds:
    """Act until every rollout has met its goal or used its budget; fill them in.

    Success latches: a query that met its goal is left as it is. A start that is already
    solved counts as solved after 1 step at the earliest, as in the published protocol.
    An environment that dies marks its rollout; the others are continued.

    Paper: Alg. 1. Decision: D13.

    Args:
        rollouts: Queries at their starts.
        planner: Encoder and micro planner.
        step_budget: T, environment steps.
        record: Keep the state columns and frames of every step.
        progress: Called with (steps, step_budget).
    """
    loop = ClosedLoop(planner)
    for number, rollout in enumerate(rollouts):
        loop.begin(number, rollout.first_selector)
        # One counter for both: what the loop counts is then in the rollout.
        rollout.kinds = loop.episodes[number].kinds
    step = 0
    live = list(range(len(rollouts)))
    while live and step < step_budget:
        with loop.seconds.of("draw"):
            seen = {number: _look(rollouts[number], step) for number in live}
        live = [number for number in live if not rollouts[number].is_over]
        if not live:
            break
        loop.observe(np.stack([seen[number] for number in live]), live)
        # All plans of a batch are equally long: the queries stay in step.
        frames = min(loop.num_planned(live[0]), step_budget - step)
        with loop.seconds.of("step"):
            for number in live:
                actions = loop.next_actions(number, frames)
                _execute(rollouts[number], actions, step, record=record)
        step += frames
        live = [number for number in live if not rollouts[number].is_over]
        if progress is not None:
            progress(step, step_budget)
    return loop.seconds


def _look(rollout: Rollout, step: int) -> Image:
    if step > 0:
        with surviving(rollout):
            return rollout.env.render()
    # After a failure any picture will do: the caller drops the rollout.
    return rollout.first


@contextmanager
def surviving(rollout: Rollout) -> Iterator[None]:
    """Mark the rollout if its environment fails inside."""
    try:
        yield
    # Simulators raise all sorts of errors; one query must not end the others.
    except Exception as error:
        rollout.error = f"{type(error).__name__}: {error}"


def _execute(
    rollout: Rollout,
    actions: Sequence[NDArray[np.float32]],
    step: int,
    *,
    record: bool,
) -> None:
    """Act one action after another; stop where the goal is met."""
    with surviving(rollout):
        for number, action in enumerate(actions):
            solved = rollout.env.step(action)
            if record:
                rollout.path.append(rollout.env.get_state())
                rollout.pictures.append(rollout.env.render())
            if solved:
                rollout.frames_to_success = step + number + 1
                return
