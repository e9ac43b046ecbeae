"""One recorded episode: how it is made, kept on disk, and read back."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.data.collect.spec import RecordingSpec
from metro.data.collect.variants import find_variant
from metro.storage.parts import read_arrays, write_arrays
from metro.types import Env

GZIP_LEVEL = 4
"""Compression level of every picture; higher levels hardly save more."""

_PICTURES = "compressed pictures"
_SIZES = "sizes of compressed pictures"


@dataclass(frozen=True)
class Episode:
    """The rows of one episode; pictures compressed one by one."""

    columns: Mapping[str, NDArray[Any]]
    """Columns ``[L, ...]``; the last action is NaN."""
    pictures: list[bytes]
    """``L`` zlib streams of ``[S, S, 3]`` uint8."""


def record_episode(spec: RecordingSpec, env: Env, number: int) -> Episode:
    """Return episode ``number`` of a recording, whatever ``env`` did before."""
    # Of seed and number alone: any worker may record any episode, in any order.
    rng = np.random.default_rng([spec.seed, number])
    variant = find_variant(spec.benchmark.name, spec.recipe)
    policy = variant.make_policy()
    env.reset(int(rng.integers(2**31)))
    policy.begin(env, rng)
    rows, pictures = [], []
    for _ in range(spec.steps):
        # Read before acting: a policy may set a new goal while it acts.
        row, picture = env.get_state(), env.render()
        action = np.array(policy.act(env, rng), np.float32)
        rows.append(row | {"action": action})
        pictures.append(zlib.compress(picture.data, GZIP_LEVEL))
        if env.step(action) and variant.stops_at_goal:
            break
    # The last frame has no action; released corpora mark it by NaN.
    nothing = np.full(env.action_size, np.nan, np.float32)
    rows.append(env.get_state() | {"action": nothing})
    pictures.append(zlib.compress(env.render().data, GZIP_LEVEL))
    columns = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
    return Episode(columns, pictures)


def save_episode(episode: Episode, file: Path) -> None:
    """Write an episode to ``file`` (``.npz``) with a digest, whole or not at all."""
    sizes = np.array([len(picture) for picture in episode.pictures])
    pictures = np.frombuffer(b"".join(episode.pictures), np.uint8)
    write_arrays(file, {**episode.columns, _PICTURES: pictures, _SIZES: sizes})


def load_episode(file: Path) -> Episode | None:
    """Return what `save_episode` wrote; None, and it is deleted, if it is damaged."""
    arrays = read_arrays(file)
    if arrays is None:
        return None
    ends = np.cumsum(arrays.pop(_SIZES))
    stream = arrays.pop(_PICTURES).tobytes()
    starts = [0, *ends[:-1].tolist()]
    pictures = [
        stream[first:last] for first, last in zip(starts, ends.tolist(), strict=True)
    ]
    return Episode(arrays, pictures)
