"""Array aliases with their shapes, and the protocols that other packages implement.

Letters: N frames, M episodes, D latent dimensions, K neighbours, H waypoint budget,
A numbers in an action, S pixels along a side of an image.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

LatentArray = NDArray[np.float32]
"""``[N, D]`` latents, one row per frame."""

Vector = NDArray[np.floating[Any]]
"""``[D]`` one latent: a goal or an observation, float32 or float64."""

# int32: a table holds N x K of them, and no corpus has 2³¹ frames.
FrameIds = NDArray[np.int32]
"""Frame numbers: 0-based rows of the latents. Negative values are named sentinels."""

# float64, although latents are float32: ties must not come from rounding.
Gaps = NDArray[np.float64]
"""Latent L2 distances."""

Costs = NDArray[np.float64]
"""Prices and path costs, in frames; ``inf`` where there is no route."""

Offsets = NDArray[np.int64]
"""Start of every group, and the end of the last: ``[groups + 1]``."""

StateColumns = Mapping[str, NDArray[Any]]
"""The columns of one moment of a recording, each ``[...]`` without the row axis."""

Image = NDArray[np.uint8]
"""``[S, S, 3]`` one picture, red green blue."""

Progress = Callable[[int, int], None]
"""Called with (done, total) during long work."""

ProgressBar = Callable[[str], AbstractContextManager[Callable[..., None]]]
"""Shows a progress bar with this title while its block runs."""


class NeighbourIndex(Protocol):
    """Answers exact nearest-frame queries; one index serves table, goal and entry."""

    def nearest(
        self, queries: NDArray[Any], num_neighbours: int, excluded: NDArray[np.int64]
    ) -> tuple[FrameIds, Gaps]:
        """Return the frames nearest to each query, and their gaps.

        Args:
            queries: ``[Q, D]`` latents, float32 or float64.
            num_neighbours: How many frames to return for each query.
            excluded: ``[Q]`` the episode that each query must not use, or -1.

        Returns:
            ``[Q, K]`` frames by ascending gap, ties by lower frame, -1 where fewer
            exist, and ``[Q, K]`` gaps, ``inf`` there.
        """
        ...


class Env(Protocol):
    """One simulator with a camera, in a state of its own.

    An episode depends on its seed and its actions alone, never on what the same
    environment was used for before. `metro.testing.check_env` checks an environment.
    """

    action_size: int
    """A, numbers in the action of one environment step."""

    def reset(self, seed: int) -> None:
        """Start from a random state that ``seed`` alone decides."""
        ...

    def set_state(self, row: StateColumns) -> None:
        """Put the simulator into a recorded state."""
        ...

    def set_goal(self, row: StateColumns) -> None:
        """Make the state in ``row`` the goal."""
        ...

    def step(self, action: NDArray[Any]) -> bool:
        """Return whether the goal is met after one environment step.

        Args:
            action: ``[A]`` as the environment takes it, not normalised.
        """
        ...

    def is_solved(self) -> bool:
        """Return whether the present state meets the goal, without stepping."""
        ...

    def get_state(self) -> dict[str, NDArray[Any]]:
        """Return the columns of this moment, without pixels, owned by the caller."""
        ...

    def render(self) -> Image:
        """Return the picture of this moment, owned by the caller."""
        ...

    def render_state(self, row: StateColumns) -> Image:
        """Return the picture of a state without physics; leaves the state undefined."""
        ...

    def close(self) -> None:
        """Give the simulator and its camera back."""
        ...


class CollectionPolicy(Protocol):
    """A scripted way to act while a corpus is recorded; one object per episode."""

    def begin(self, env: Any, rng: np.random.Generator) -> None:
        """Prepare the episode: choose targets, perhaps set the first state."""
        ...

    def act(self, env: Any, rng: np.random.Generator) -> NDArray[np.float32]:
        """Return the action ``[A]`` for the present state of ``env``."""
        ...


class CorpusLike(Protocol):
    """Recorded episodes as training and state spaces read them.

    `metro.data.corpus.Corpus` is one; rows of all episodes follow one another.
    """

    name: str
    lengths: NDArray[np.int64]
    offsets: NDArray[np.int64]
    image_size: int
    benchmark: str | None
    rendering: str | None
    settings: Mapping[str, Any]

    @property
    def num_episodes(self) -> int:
        """How many episodes there are."""
        ...

    @property
    def num_frames(self) -> int:
        """How many rows there are."""
        ...

    @property
    def digest(self) -> str:
        """The sha256 of the recording."""
        ...

    def column(self, name: str) -> NDArray[Any]:
        """Return all rows of a column, ``[N, ...]``."""
        ...

    def frames(self, episode: int) -> NDArray[np.uint8]:
        """Return the frames of one episode, ``[L, S, S, 3]``."""
        ...


class PartStore(Protocol):
    """Finished parts of a long computation, kept so that it can be resumed."""

    def open(self, key: str) -> None:
        """Discard the parts that depend on anything but ``key``."""
        ...

    def finished(self) -> Iterator[Mapping[str, NDArray[Any]]]:
        """Yield the parts that earlier runs finished."""
        ...

    def add(self, part: Mapping[str, NDArray[Any]]) -> None:
        """Take a finished part."""
        ...

    def flush(self) -> None:
        """Write all parts that wait."""
        ...

    def remove(self) -> None:
        """Delete all parts: the computation is complete."""
        ...


class WorldModel(Protocol):
    """A world model: the least that planning needs of one.

    It may have more, which messages, files and checks then use: ``name``,
    ``benchmark``, ``family``, ``image_size``, ``latent_size``, ``rendering``,
    ``action_stats`` and ``digest``, a text that changes with the weights.
    `metro.testing.check_world_model` says whether an object is one.
    """

    @property
    def action_size(self) -> int:
        """A, numbers in the action of one environment step."""
        ...

    @property
    def action_block(self) -> int:
        """Environment steps of one predicted step."""
        ...

    def encode(self, frames: Any) -> Any:
        """Return ``[N, D]`` float32 latents of frames ``[N, S, S, 3]`` uint8."""
        ...

    def rollout(self, z: Any, actions: Any) -> Any:
        """Return ``[B, T, D]``, the latents after each of T action blocks.

        Args:
            z: ``[B, D]`` present latents.
            actions: ``[B, T, action_block * A]`` normalised actions, in time order.
        """
        ...
