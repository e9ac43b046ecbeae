"""Training sequences: four frames, five environment steps apart, and their actions."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.core.latents import offsets_from_lengths
from metro.errors import ModelError
from metro.models.action_stats import ActionStats
from metro.models.presets import ACTION_BLOCK, SEQUENCE_FRAMES
from metro.models.train_config import OptimiserConfig

SEQUENCE_ROWS = SEQUENCE_FRAMES * ACTION_BLOCK
"""Rows of a corpus that one sequence spans."""


@dataclass(frozen=True, eq=False)
class TrajectoryDataset:
    """A corpus as training needs it: plain arrays, episodes one after another.

    Attributes:
        pixels: ``[N, S, S, 3]`` uint8; may be a memory map.
        actions: ``[N, A]`` the action taken at each frame, NaN where there is none.
        lengths: ``[M]`` frames of every episode.
        states: ``[N, K]`` true state, for probes and for the auxiliary loss; or None.
        state_names: K names.
        benchmark: What it shows, or None.
        rendering: How it was drawn: ``stock`` or ``fast``.
        source: File, digest and settings of the corpus; kept in the model's file.
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
            found = ", ".join(f"{name} {number}" for name, number in rows.items())
            raise ModelError(f"All arrays must have the same rows, got {found}.")
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
    """B sequences: pixels ``[B * 4, S, S, 3]``, blocks ``[B, 4, A * 5]``, states."""

    pixels: NDArray[np.uint8]
    blocks: NDArray[np.float32]
    states: NDArray[np.float32] | None


class EpochSampler:
    """Starts of sequences: the same seed and step give the same ones at any time.

    Every epoch visits each start once in an order of its own; the last incomplete batch
    is dropped.

    Args:
        starts: First rows of the sequences to draw from.
        batch_size: Sequences per step.
        seed: Random seed for the order, as NumPy takes several numbers.
        what: What a sequence is and how long, for the message.
    """

    def __init__(
        self,
        starts: NDArray[np.int64],
        *,
        batch_size: int,
        seed: tuple[int, ...],
        what: str,
    ) -> None:
        if len(starts) < batch_size:
            raise ModelError(
                f"Training needs at least one batch of {batch_size} {what}; the corpus "
                f"has {len(starts)}. Record more or longer episodes."
            )
        self._all_starts, self._batch_size = starts, batch_size
        self._order_seed = seed
        self._known = (-1, starts)

    @property
    def steps_per_epoch(self) -> int:
        """How many batches visit every sequence once."""
        return len(self._all_starts) // self._batch_size

    def starts_at(self, step: int) -> NDArray[np.int64]:
        """Return the starts of one optimiser step."""
        epoch, number = divmod(step, self.steps_per_epoch)
        # One tuple, read once: the next batch is read in another thread.
        known = self._known
        if known[0] != epoch:
            rng = np.random.default_rng([*self._order_seed, epoch])
            known = self._known = (epoch, rng.permutation(self._all_starts))
        first = number * self._batch_size
        return known[1][first : first + self._batch_size]


class SequenceSampler(EpochSampler):
    """Batches of B sequences of T frames for a world model."""

    def __init__(
        self,
        dataset: TrajectoryDataset,
        starts: NDArray[np.int64],
        *,
        action_stats: ActionStats,
        batch_size: int,
        seed: int,
        num_frames: int = SEQUENCE_FRAMES,
    ) -> None:
        what = f"sequences of {num_frames * ACTION_BLOCK} rows"
        super().__init__(starts, batch_size=batch_size, seed=(seed,), what=what)
        self._pixels, self._num_frames = dataset.pixels, num_frames
        self._actions = action_stats.normalise(dataset.actions)
        self._states = dataset.states
        if dataset.states is not None:
            # States are standardised as actions are.
            self._states = ActionStats.of(dataset.states).normalise(dataset.states)

    def batch(self, step: int) -> Batch:
        """Return the sequences of one optimiser step."""
        return self.gather(self.starts_at(step))

    def gather(self, starts: NDArray[np.int64]) -> Batch:
        """Return the sequences that start at these rows."""
        number = self._num_frames
        frames = starts[:, None] + ACTION_BLOCK * np.arange(number)
        rows = starts[:, None] + np.arange(number * ACTION_BLOCK)
        blocks = self._actions[rows].reshape(len(starts), number, -1)
        states = None if self._states is None else self._states[frames]
        return Batch(self._pixels[frames.ravel()], blocks, states)


def sequence_starts(
    lengths: NDArray[np.int64],
    episodes: NDArray[np.int64],
    *,
    rows: int = SEQUENCE_ROWS,
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
    # One at least: probes need an episode that was never trained on.
    number = max(1, round(held_out * num_episodes))
    if number >= num_episodes:
        raise ModelError(
            f"Training needs at least 2 episodes, one of them held out; "
            f"got {num_episodes}."
        )
    order = np.random.default_rng([seed, num_episodes]).permutation(num_episodes)
    return np.sort(order[number:]), np.sort(order[:number])


def split_starts(
    lengths: NDArray[np.int64], config: OptimiserConfig, *, rows: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the first rows of the sequences to train on, and of those held out.

    Args:
        lengths: ``[M]`` frames of every episode.
        config: What is held out.
        rows: Rows that a sequence spans.
    """
    if config.split == "episodes":
        kept, held_out = split_episodes(len(lengths), config.held_out, config.seed)
        return (
            sequence_starts(lengths, kept, rows=rows),
            sequence_starts(lengths, held_out, rows=rows),
        )
    starts = sequence_starts(lengths, np.arange(len(lengths)), rows=rows)
    order = np.random.default_rng([config.seed, len(starts)]).permutation(len(starts))
    number = round(config.held_out * len(starts))
    return np.sort(starts[order[number:]]), np.sort(starts[order[:number]])
