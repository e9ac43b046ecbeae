"""How soon latent gaps no longer tell near from far: why prices are in frames."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metro.core.latents import Latents
from metro.kernels.neighbours.gaps import gaps_of_pairs
from metro.types import Gaps

DISTANCES = (1, 2, 5, 10, 15, 25, 50, 75)


@dataclass(frozen=True)
class Saturation:
    """The gap inside an episode, divided by the gap to a random other episode.

    Paper: Sec. E (latent metric saturation).

    Attributes:
        distance: Number of frames between the two frames of an episode.
        median: Median gap inside an episode over the median gap across episodes.
        lower: The same with the 25 % quantile inside the episode.
        upper: The same with the 75 % quantile inside the episode.
        num_pairs: Number of pairs drawn inside episodes.
    """

    distance: int
    median: float
    lower: float
    upper: float
    num_pairs: int


def measure_saturation(
    latents: Latents,
    distances: Sequence[int] = DISTANCES,
    *,
    num_samples: int = 5_000,
    seed: int = 0,
) -> list[Saturation]:
    """Return the saturation at every distance that the episodes are long enough for.

    Empty for a corpus of one episode: there is no other episode to compare with.

    Args:
        latents: The corpus.
        distances: Numbers of frames between the two frames of a pair.
        num_samples: Number of pairs to draw per distance.
        seed: Random seed for all sampling.
    """
    if latents.num_episodes < 2:
        return []
    rng = np.random.default_rng(seed)
    across = np.median(_gaps_across(latents, num_samples, rng))
    measured = []
    for distance in distances:
        firsts = _draw_firsts(latents, distance, num_samples, rng)
        # A collapsed encoder puts all frames in one place: there is no scale.
        if len(firsts) == 0 or across == 0:
            continue
        gaps = gaps_of_pairs(latents.z, firsts, latents.z, firsts + distance)
        lower, median, upper = np.quantile(gaps, [0.25, 0.5, 0.75]) / across
        measured.append(
            Saturation(distance, float(median), float(lower), float(upper), len(firsts))
        )
    return measured


def _gaps_across(latents: Latents, num_samples: int, rng: np.random.Generator) -> Gaps:
    """Return gaps from random frames to random frames of other episodes."""
    u = rng.integers(latents.num_frames, size=num_samples)
    starts = latents.episode_offsets[latents.episode_of(u)]
    lengths = latents.episode_lengths[latents.episode_of(u)]
    v = rng.integers(latents.num_frames - lengths)
    v = np.where(v >= starts, v + lengths, v)  # skip the frame's own episode
    return gaps_of_pairs(latents.z, u, latents.z, v)


def _draw_firsts(
    latents: Latents, distance: int, num_samples: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return random frames that have a frame ``distance`` later in their episode."""
    pairs = np.maximum(latents.episode_lengths - distance, 0)
    ends = np.cumsum(pairs)
    if ends[-1] == 0:
        return np.empty(0, dtype=np.int64)
    drawn = rng.integers(ends[-1], size=num_samples)
    episode = np.searchsorted(ends, drawn, side="right")
    firsts = latents.episode_offsets[episode] + drawn - (ends - pairs)[episode]
    return np.asarray(firsts)
