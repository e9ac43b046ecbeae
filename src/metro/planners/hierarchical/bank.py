"""Recorded action sequences as latent macro actions: the bank and the box.

Letters: K sequences, h macro steps, E numbers in a latent macro action.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from metro.errors import ModelError
from metro.models.action_stats import ActionStats
from metro.models.frozen import FrozenModel
from metro.models.macro.metrics import CHUNK_FRAMES
from metro.models.macro.model import MacroModel
from metro.models.macro.sizes import CHUNK_BLOCKS
from metro.models.sequences import sequence_starts
from metro.planners.hierarchical.budgets import BANK_SIZE, BOX_CHUNKS

# With fewer, the 5 % quantiles would rest on two or three chunks.
_LEAST_CHUNKS = 64
_LIMIT = 3.0
_MARGIN = 0.05


@dataclass(frozen=True, eq=False)
class Recorded:
    """Raw actions of a corpus.

    Attributes:
        actions: ``[N, A]``, NaN where there is none.
        lengths: ``[M]`` frames of every episode.
        action_stats: How they are normalised.
    """

    actions: NDArray[np.float32]
    lengths: NDArray[np.int64]
    action_stats: ActionStats

    def starts(self, frames: int) -> NDArray[np.int64]:
        """Return the rows from which ``frames`` actions of one episode follow.

        Actions with NaN are none: the last frame of an episode has no action.
        """
        starts = sequence_starts(
            self.lengths, np.arange(len(self.lengths)), rows=frames
        )
        # Sums of missing actions: a window has none if the sum at both ends is equal.
        missing = np.isnan(self.actions).any(axis=1)
        before = np.concatenate([[0], np.cumsum(missing)])
        return starts[before[starts + frames] == before[starts]]

    def episodes_of(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the episode of each row."""
        # From the right: an end is the first row of the next episode.
        return np.searchsorted(np.cumsum(self.lengths), rows, side="right")


@dataclass(frozen=True, eq=False)
class Bank:
    """Encoded sequences to draw from.

    Attributes:
        sequences: ``[K, h, E]`` macro actions that were recorded one after another.
        episodes: ``[K]`` the episode of each.
        starts: ``[K]`` the row at which each begins.
    """

    sequences: Tensor
    episodes: NDArray[np.int64]
    starts: NDArray[np.int64]

    def without(self, episode: int) -> "Bank":
        """Return the bank without the sequences of one episode, smaller by these."""
        kept = self.episodes != episode
        if not kept.any():
            raise ModelError(
                f"Without episode {episode} the bank is empty. Record more episodes."
            )
        return Bank(
            self.sequences[torch.from_numpy(kept)],
            self.episodes[kept],
            self.starts[kept],
        )


def build_bank(
    recorded: Recorded,
    model: FrozenModel,
    macro: MacroModel,
    *,
    macro_steps: int,
    size: int = BANK_SIZE,
    seed: int = 0,
) -> Bank:
    """Return a bank of different sequences, each inside one episode.

    Decision: D22.

    Args:
        recorded: The corpus' actions.
        model: The frozen world model.
        macro: Encodes them.
        macro_steps: h, macro actions of 25 frames in a sequence.
        size: K.
        seed: Of the draw.
    """
    macro.require_encoder(model)
    starts = _draw(recorded, macro_steps * CHUNK_FRAMES, size, seed)
    sequences = _encode(recorded, starts, macro, macro_steps)
    return Bank(sequences, recorded.episodes_of(starts), starts)


def calibrate_box(
    recorded: Recorded,
    model: FrozenModel,
    macro: MacroModel,
    *,
    num_chunks: int = BOX_CHUNKS,
    seed: int = 0,
) -> Tensor:
    """Return ``[2, E]``, the lowest and highest macro action of Hi-LeWM's box.

    The 5th and 95th percentile of recorded chunks in each dimension, widened by 5 % of
    their span on both sides, inside [-3, 3].
    """
    macro.require_encoder(model)
    if num_chunks < _LEAST_CHUNKS:
        raise ModelError(
            f"A box needs at least {_LEAST_CHUNKS} chunks, asked for {num_chunks}."
        )
    starts = _draw(recorded, CHUNK_FRAMES, num_chunks, seed)
    chunks = _encode(recorded, starts, macro, 1)[:, 0]
    low, high = torch.quantile(chunks, torch.tensor([0.05, 0.95]), dim=0)
    margin = _MARGIN * (high - low)
    return torch.stack([low - margin, high + margin]).clamp(-_LIMIT, _LIMIT)


def _draw(recorded: Recorded, frames: int, number: int, seed: int) -> NDArray[np.int64]:
    """Return different rows, in ascending order, from which ``frames`` actions follow.

    Where the authors would draw some twice, this is an error.
    """
    starts = recorded.starts(frames)
    if len(starts) < number:
        raise ModelError(
            f"{number} sequences of {frames} actions were asked for; the corpus has "
            f"{len(starts)}. Record more or longer episodes, or plan fewer macro steps."
        )
    # The length is part of the seed: banks of 1 and 2 steps are drawn independently.
    rng = np.random.default_rng([seed, frames])
    return np.sort(rng.choice(starts, number, replace=False))


def _encode(
    recorded: Recorded,
    starts: NDArray[np.int64],
    macro: MacroModel,
    macro_steps: int,
) -> Tensor:
    """Return ``[K, h, E]`` macro actions of the sequences from ``starts`` on."""
    rows = starts[:, None] + np.arange(macro_steps * CHUNK_FRAMES)
    actions = torch.from_numpy(recorded.action_stats.normalise(recorded.actions)[rows])
    chunks = actions.reshape(len(starts) * macro_steps, CHUNK_BLOCKS, -1)
    return macro.encode(chunks).reshape(len(starts), macro_steps, -1)
