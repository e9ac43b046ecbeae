"""Training windows: five waypoints of an episode, and the actions between them.

Letters: N frames, B windows, n = 4 macro steps, L action blocks of the longest one.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.core.latents import Latents
from metro.errors import ModelError
from metro.models.action_stats import raw_actions, stats_for
from metro.models.frozen import FrozenModel
from metro.models.macro.sizes import MAX_BLOCKS, NUM_WAYPOINTS
from metro.models.presets import ACTION_BLOCK
from metro.models.sequences import EpochSampler
from metro.storage.made_from import Provenance
from metro.types import CorpusLike

HISTORY_ROWS = 3
"""Rows before the span; the first waypoint is the last of them."""

WINDOW_ROWS = HISTORY_ROWS + MAX_BLOCKS

WINDOW_FRAMES = (WINDOW_ROWS - 1) * ACTION_BLOCK + 1
"""Frames of an episode that one window spans: 86. Decision: D19."""

_GAPS = NUM_WAYPOINTS - 1


@dataclass(frozen=True, eq=False)
class Trajectories:
    """A corpus as macro training needs it.

    Attributes:
        z: ``[N, D]`` latents of the frozen world model.
        actions: ``[N, A]`` normalised actions, 0 where none was recorded.
        lengths: ``[M]`` frames of every episode.
        origin: Digests of corpus and latents; goes into the model's file.
    """

    z: NDArray[np.float32]
    actions: NDArray[np.float32]
    lengths: NDArray[np.int64]
    origin: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        rows = (len(self.z), len(self.actions), int(np.sum(self.lengths)))
        if len(set(rows)) > 1:
            raise ModelError(
                f"Latents, actions and episodes must have the same rows, got "
                f"{', '.join(map(str, rows))}. Encode the same corpus."
            )

    @classmethod
    def of(
        cls, latents: Latents, corpus: CorpusLike, model: FrozenModel
    ) -> "Trajectories":
        """Return the latents of a corpus beside its normalised actions.

        Released models do not know how actions are normalised; then the corpus decides,
        as in the published code.
        """
        require_latents_of(latents, corpus, model)
        made = Provenance.of(latents)
        return cls(
            np.asarray(latents.z),
            stats_for(model, corpus).normalise(raw_actions(corpus)),
            np.asarray(corpus.lengths),
            {
                "corpus": asdict(made.corpus),
                "model": asdict(made.model),
                "latents": latents.digest,
            },
        )

    def blocks(self, frames: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return ``[..., A * 5]``, the five actions from each frame ``[...]`` on."""
        rows = frames[..., None] + np.arange(ACTION_BLOCK)
        return self.actions[rows].reshape(*frames.shape, -1)


def require_latents_of(
    latents: Latents, corpus: CorpusLike, model: FrozenModel
) -> None:
    """Raise a `MetroError` unless ``latents`` are those of this corpus and model."""
    Provenance.of(latents).require(model=model.digest, corpus=corpus.digest)
    if not np.array_equal(latents.episode_lengths, corpus.lengths):
        raise ModelError(
            f"The latents have {latents.num_episodes} episodes with other lengths than "
            f"the {corpus.num_episodes} of {corpus.name}. Encode it again."
        )


@dataclass(frozen=True)
class MacroBatch:
    """B windows: latents ``[B, 5, D]``, blocks ``[B, 4, L, A * 5]``, padding."""

    z: NDArray[np.float32]
    blocks: NDArray[np.float32]
    is_padding: NDArray[np.bool_]


def sample_waypoints(number: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return ``[B, 5]`` rows of waypoints, sorted, the first at the history's end.

    The span is uniform over 4 to 15 rows. Every gap gets one row, and each row that is
    left falls into a gap chosen evenly.
    """
    spans = rng.integers(_GAPS, MAX_BLOCKS + 1, number)
    even = np.full(_GAPS, 1 / _GAPS)
    gaps = 1 + rng.multinomial(spans - _GAPS, even)
    first = np.full((number, 1), HISTORY_ROWS - 1)
    return np.concatenate([first, HISTORY_ROWS - 1 + np.cumsum(gaps, axis=1)], axis=1)


def gather(
    source: Trajectories, starts: NDArray[np.int64], waypoints: NDArray[np.int64]
) -> MacroBatch:
    """Return the windows that start at these frames, with these waypoints ``[B, 5]``.

    Macro action i has the blocks of rows waypoint i to waypoint i + 1, without the
    last, padded with 0 on the right.
    """
    frames = starts[:, None] + ACTION_BLOCK * waypoints
    gaps = np.diff(waypoints, axis=1)
    steps = np.arange(gaps.max())
    is_padding = steps >= gaps[..., None]
    # Padding reads a row of its own span: steps beyond could leave the corpus.
    wanted = frames[:, :-1, None] + ACTION_BLOCK * np.where(is_padding, 0, steps)
    blocks = source.blocks(wanted)
    blocks[is_padding] = 0
    return MacroBatch(source.z[frames], blocks, is_padding)


class WindowSampler(EpochSampler):
    """Batches of windows for a macro model, with fresh waypoints in every epoch."""

    def __init__(
        self,
        source: Trajectories,
        starts: NDArray[np.int64],
        *,
        batch_size: int,
        seed: int,
    ) -> None:
        what = f"windows of {WINDOW_FRAMES} frames"
        super().__init__(starts, batch_size=batch_size, seed=(seed, 0), what=what)
        self._source, self._seed = source, seed

    def batch(self, step: int) -> MacroBatch:
        """Return the windows of one optimiser step."""
        starts = self.starts_at(step)
        # Streams 0 and 1: order and waypoints must not share random numbers.
        rng = np.random.default_rng([self._seed, 1, step])
        return gather(self._source, starts, sample_waypoints(len(starts), rng))
