"""Algorithm 1: observe, choose a sub-goal, plan, act; for several environments at once.

`metro evaluate` and the policies run this one loop. The environments are stepped by the
caller: frames go in, actions come out. Each environment has a selector and random
numbers of its own, so that its actions do not depend on what is planned beside it.
"""

import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from metro.types import Vector


class SubgoalSelector(Protocol):
    """Chooses, before every micro plan of one query, which latent to head for."""

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
        """Return raw actions ``[B, frames, A]`` to be executed one after another.

        Args:
            observed: ``[B, D]`` present latents.
            target: ``[B, D]`` latents to reach.
            queries: B numbers of the queries in the batch; a planner may keep random
                numbers, or what is left of a plan, for each.
        """
        ...


@runtime_checkable
class ProposingSelector(Protocol):
    """A selector that also knows which actions once led to its target."""

    def propose(self, count: int) -> NDArray[np.float32]:
        """Return ``[count, A]`` raw actions; NaN where nothing is known."""
        ...


@runtime_checkable
class GuessingPlanner(Protocol):
    """A micro planner that can search around proposed actions."""

    num_frames: int
    """Actions of one plan."""

    def plan(
        self,
        observed: NDArray[Any],
        target: NDArray[Any],
        queries: Sequence[int],
        proposed: NDArray[np.float32] | None = None,
    ) -> NDArray[np.float32]:
        """Return actions as every micro planner does.

        The search starts around ``proposed`` raw actions ``[B, frames, A]``.
        """
        ...


@dataclass
class Seconds:
    """Wall time of a batch, by what it was spent on.

    Attributes:
        draw: Rendering the environments.
        encode: Frames to latents.
        search: Routes to the goals, once per query.
        entry: From an observation to a target: entering the graph and walking.
        plan: The micro planner.
        step: Stepping the environments.
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


@dataclass
class EpisodeState:
    """What one environment is doing.

    Attributes:
        make_selector: Called with the first observation ``[D]``.
        selector: Which latent to head for; None before the first observation.
        actions: Planned and not yet handed out.
        step: Actions handed out since the start.
        kinds: How often the selector gave each word.
    """

    make_selector: Callable[[Vector], SubgoalSelector]
    selector: SubgoalSelector | None = None
    actions: deque[NDArray[np.float32]] = field(default_factory=deque)
    step: int = 0
    kinds: Counter[str] = field(default_factory=Counter)


class ClosedLoop:
    """Algorithm 1 for a batch of environments, numbered as the micro planner's queries.

    ``begin`` an episode, ``observe`` a frame whenever ``is_waiting``, and execute the
    ``next_actions``.

    Paper: Alg. 1.

    Args:
        planner: Encoder and micro planner.
        seconds: Where the time of each phase is added; None: a new one.
    """

    def __init__(self, planner: MicroPlanner, seconds: Seconds | None = None) -> None:
        self.planner = planner
        self.seconds = Seconds() if seconds is None else seconds
        self.episodes: dict[int, EpisodeState] = {}

    def begin(
        self, number: int, make_selector: Callable[[Vector], SubgoalSelector]
    ) -> None:
        """Start an episode in environment ``number``; forget the one before.

        Args:
            number: The environment.
            make_selector: Called with the first observation ``[D]``: a search that
                knows where it starts can stop early.
        """
        self.episodes[number] = EpisodeState(make_selector)

    def is_waiting(self, number: int) -> bool:
        """Return whether an environment has no planned action left."""
        return not self.episodes[number].actions

    def observe(self, frames: NDArray[np.uint8], numbers: Sequence[int]) -> None:
        """Plan from what environments ``numbers`` show, ``[B, S, S, 3]``."""
        seconds = self.seconds
        episodes = [self.episodes[number] for number in numbers]
        with seconds.of("encode"):
            observed = self.planner.encode(frames)
        # Only now is it known where the search starts; it can stop when it gets there.
        with seconds.of("search"):
            for episode, latent in zip(episodes, observed, strict=True):
                if episode.selector is None:
                    episode.selector = episode.make_selector(latent)
        with seconds.of("entry"):
            pairs = zip(episodes, observed, strict=True)
            targets = np.stack([_target(*pair) for pair in pairs])
        with seconds.of("plan"):
            plans = _plan(self.planner, episodes, observed, targets, numbers)
        # Whole plans are executed before the next look, as in the published protocol.
        for episode, actions in zip(episodes, plans, strict=True):
            episode.actions = deque(actions)

    def num_planned(self, number: int) -> int:
        """Return how many actions of an environment are planned."""
        return len(self.episodes[number].actions)

    def next_actions(self, number: int, count: int = 1) -> list[NDArray[np.float32]]:
        """Return the next ``count`` planned actions ``[A]`` of an environment."""
        episode = self.episodes[number]
        episode.step += count
        return [episode.actions.popleft() for _ in range(count)]


def _target(episode: EpisodeState, observed: Vector) -> Vector:
    """Return the target ``[D]`` that the selector chooses, and count its kind."""
    assert episode.selector is not None  # made from the same observation
    target, kind = episode.selector(observed, episode.step)
    episode.kinds[kind] += 1
    return target


def _plan(
    planner: MicroPlanner,
    episodes: Sequence[EpisodeState],
    observed: NDArray[Any],
    targets: NDArray[Any],
    numbers: Sequence[int],
) -> NDArray[np.float32]:
    """Return plans, around what the selectors propose if all of them do."""
    proposing: list[Any] = [episode.selector for episode in episodes]
    # A planner may take no first guess, and a batch is planned in one way.
    all_propose = all(isinstance(one, ProposingSelector) for one in proposing)
    if not isinstance(planner, GuessingPlanner) or not all_propose:
        return planner.plan(observed, targets, numbers)
    proposed = np.stack([one.propose(planner.num_frames) for one in proposing])
    return planner.plan(observed, targets, numbers, proposed)
