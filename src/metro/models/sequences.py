"""Clips for training: four frames, five environment steps apart, and their actions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.core.latents import offsets_from_lengths
from metro.errors import ModelError
from metro.models.action_stats import ActionStats
from metro.models.presets import ACTION_BLOCK

CLIP_FRAMES = 4
"""Three frames of context and the one to predict."""

CLIP_ROWS = CLIP_FRAMES * ACTION_BLOCK
"""Rows of a corpus that one clip spans."""


@dataclass(frozen=True, eq=False)
class TrajectoryDataset:
    """A corpus as training needs it: plain arrays, episodes one after another.

    Attributes:
        pixels: ``[N, S, S, 3]`` uint8; may be a memory map.
        actions: ``[N, A]`` the action taken at each frame, NaN where there is none.
        lengths: ``[M]`` frames of every episode.
        states: ``[N, K]`` true state, for probes and for the state head; or None.
        state_names: K names.
        benchmark: What it shows, or None.
        rendering: How it was drawn: ``stock`` or ``fast``.
        source: Where it comes from (file, digest, recipe); goes into the model's file.
    """

    pixels: NDArray[np.uint8]
    actions: NDArray[np.float32]
    lengths: NDArray[np.int64]
    states: NDArray[np.float32] | None = None
    state_names: tuple[str, ...] = ()
    benchmark: str | None = None
    rendering: str = "stock"
    source: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.pixels.ndim != 4 or self.pixels.dtype != np.uint8:
            raise ModelError(
                f"pixels must be uint8 of shape [N, S, S, 3], "
                f"got {self.pixels.dtype} of {self.pixels.shape}."
            )
        rows = {"pixels": len(self.pixels), "actions": len(self.actions)}
        rows["lengths"] = int(np.sum(self.lengths))
        if self.states is not None:
            rows["states"] = len(self.states)
        if len(set(rows.values())) > 1:
            told = ", ".join(f"{name} {number}" for name, number in rows.items())
            raise ModelError(f"All arrays must have the same rows, got {told}.")
        if self.states is not None and self.states.shape[1] != len(self.state_names):
            raise ModelError(
                f"states has {self.states.shape[1]} columns and "
                f"{len(self.state_names)} names; they must agree."
            )

    @property
    def image_size(self) -> int:
        """S, pixels."""
        return self.pixels.shape[1]

    @property
    def offsets(self) -> NDArray[np.int64]:
        """``[M + 1]`` first row of every episode, then N."""
        return offsets_from_lengths(np.asarray(self.lengths, dtype=np.int64))


@dataclass(frozen=True)
class Batch:
    """B clips: pixels ``[B * 4, S, S, 3]``, blocks ``[B, 4, A * 5]``, state or None."""

    pixels: NDArray[np.uint8]
    blocks: NDArray[np.float32]
    states: NDArray[np.float32] | None


class SequenceSampler:
    """Batches of clips: the same seed and step give the same batch at any time.

    Every epoch visits each clip once in an order of its own; the last incomplete batch
    is dropped.

    Args:
        footage: The corpus.
        starts: First rows of the clips to draw from.
        action_stats: How actions are normalised.
        batch_size: B.
        seed: Of the order.
        clip_frames: T, frames of a clip.
    """

    def __init__(
        self,
        footage: TrajectoryDataset,
        starts: NDArray[np.int64],
        *,
        action_stats: ActionStats,
        batch_size: int,
        seed: int,
        clip_frames: int = CLIP_FRAMES,
    ) -> None:
        if len(starts) < batch_size:
            raise ModelError(
                f"Training needs at least one batch of {batch_size} clips of "
                f"{clip_frames * ACTION_BLOCK} rows; the corpus has {len(starts)}. "
                f"Record more episodes."
            )
        self._pixels, self._starts = footage.pixels, starts
        self._actions = action_stats.normalise(footage.actions)
        self._states = footage.states
        if footage.states is not None:
            # States are standardised as actions are.
            self._states = ActionStats.of(footage.states).normalise(footage.states)
        self._batch_size, self._seed = batch_size, seed
        self._clip_frames = clip_frames
        self._known = (-1, starts)

    @property
    def steps_per_epoch(self) -> int:
        """How many batches visit every clip once."""
        return len(self._starts) // self._batch_size

    def batch(self, step: int) -> Batch:
        """Return the clips of one optimiser step."""
        epoch, number = divmod(step, self.steps_per_epoch)
        first = number * self._batch_size
        return self.gather(self._order(epoch)[first : first + self._batch_size])

    def _order(self, epoch: int) -> NDArray[np.int64]:
        """Return the starts in the order of an epoch; the last one asked is kept."""
        known = self._known  # one tuple: two threads may ask
        if known[0] != epoch:
            rng = np.random.default_rng([self._seed, epoch])
            known = self._known = (epoch, rng.permutation(self._starts))
        return known[1]

    def gather(self, starts: NDArray[np.int64]) -> Batch:
        """Return the clips that start at these rows."""
        number = self._clip_frames
        frames = starts[:, None] + ACTION_BLOCK * np.arange(number)
        rows = starts[:, None] + np.arange(number * ACTION_BLOCK)
        blocks = self._actions[rows].reshape(len(starts), number, -1)
        states = None if self._states is None else self._states[frames]
        return Batch(self._pixels[frames.ravel()], blocks, states)


def clip_starts(
    lengths: NDArray[np.int64], episodes: NDArray[np.int64], *, rows: int = CLIP_ROWS
) -> NDArray[np.int64]:
    """Return every row of these episodes at which ``rows`` rows are left."""
    offsets = offsets_from_lengths(np.asarray(lengths, dtype=np.int64))
    counts = np.maximum(np.asarray(lengths)[episodes] - rows + 1, 0)
    firsts = np.repeat(offsets[episodes] - (np.cumsum(counts) - counts), counts)
    return firsts + np.arange(counts.sum())


def split_episodes(
    num_episodes: int, held_out: float, seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the episodes to train on and those held out, each in ascending order."""
    number = max(1, round(held_out * num_episodes))
    if number >= num_episodes:
        raise ModelError(
            f"Training needs at least 2 episodes, one of them held out; "
            f"got {num_episodes}."
        )
    order = np.random.default_rng([seed, num_episodes]).permutation(num_episodes)
    return np.sort(order[number:]), np.sort(order[:number])
