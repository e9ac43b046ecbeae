"""The corpus as the planner sees it: encoded frames, episode after episode."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metro.errors import GraphError, LatentsError
from metro.kernels.checks import require_finite
from metro.types import LatentArray, Offsets, Vector

_MOST_FRAMES = 2**31 - 1
"""Frames are numbered in 32 bits."""


@dataclass(frozen=True, eq=False)
class Latents:
    """Encoded frames of all episodes: the vertices of the graph.

    Any real array is taken; it is kept as contiguous float32 and read-only. All
    frames of an episode are vertices. Rows that are contiguous float32 already are
    not copied: do not change that array afterwards, the digest and every table made
    from it would be wrong.

    Paper: Sec. 5.1. Decision: D7.

    Attributes:
        z: ``[N, D]`` float32, one row per frame, episodes one after another.
        episode_offsets: ``[M + 1]`` first row of every episode, then N.
        provenance: Where the latents come from (encoder, corpus); goes into files.
    """

    z: LatentArray
    episode_offsets: Offsets
    provenance: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        z = _as_rows(self.z)
        offsets = _as_offsets(self.episode_offsets, len(z))
        require_finite(z)
        object.__setattr__(self, "z", _read_only(z))
        object.__setattr__(self, "episode_offsets", _read_only(offsets))

    @classmethod
    def from_episodes(
        cls,
        episodes: Iterable[ArrayLike],
        *,
        provenance: Mapping[str, Any] | None = None,
    ) -> "Latents":
        """Return the latents of a list of episodes, each ``[L_m, D]``."""
        if isinstance(episodes, np.ndarray) and episodes.ndim == 2:
            raise LatentsError(
                f"from_episodes takes a list of arrays [steps, D], one per episode; "
                f"got one array of shape {episodes.shape}. For one episode give "
                f"[rows], for rows of many Latents(rows, episode_offsets)."
            )
        arrays = [
            _as_array(f"Episode {number}", episode)
            for number, episode in enumerate(episodes)
        ]
        if not arrays:
            raise LatentsError("The corpus is empty: got 0 episodes, need at least 1.")
        for number, array in enumerate(arrays):
            if array.ndim != 2 or array.shape[1:] != arrays[0].shape[1:]:
                raise LatentsError(
                    f"Every episode must have shape [steps, D] with one D for all; "
                    f"episode {number} has shape {array.shape}, "
                    f"episode 0 has {arrays[0].shape}."
                )
        lengths = [len(array) for array in arrays]
        return cls(
            np.concatenate(arrays), offsets_from_lengths(lengths), provenance or {}
        )

    @classmethod
    def trusted(
        cls,
        z: LatentArray,
        episode_offsets: Offsets,
        *,
        provenance: Mapping[str, Any],
        digest: str,
    ) -> "Latents":
        """Return latents without reading the rows; for files that we checked once."""
        latents = object.__new__(cls)
        offsets = _as_offsets(episode_offsets, len(z))
        object.__setattr__(latents, "z", _read_only(z))
        object.__setattr__(latents, "episode_offsets", _read_only(offsets))
        object.__setattr__(latents, "provenance", dict(provenance))
        # Known from the file: computing it would read every row of a mapped array.
        object.__setattr__(latents, "digest", digest)
        return latents

    def __repr__(self) -> str:
        return (
            f"Latents(num_frames={self.num_frames}, dim={self.dim}, "
            f"num_episodes={self.num_episodes})"
        )

    @property
    def num_frames(self) -> int:
        """N, the number of recorded frames."""
        return len(self.z)

    @property
    def dim(self) -> int:
        """D, the size of one latent."""
        return int(self.z.shape[1])

    @property
    def num_episodes(self) -> int:
        """M, the number of episodes."""
        return len(self.episode_offsets) - 1

    @property
    def episode_lengths(self) -> NDArray[np.int64]:
        """``[M]`` frames of every episode."""
        return np.diff(self.episode_offsets)

    @cached_property
    def digest(self) -> str:
        """sha256 of the rows and offsets: the same corpus has the same digest."""
        # With the shape, because the same bytes may be cut into other rows.
        sha = hashlib.sha256(f"latents {self.z.shape}".encode())
        sha.update(self.z.data)
        sha.update(self.episode_offsets.data)
        return sha.hexdigest()

    def episode_of(self, frame: ArrayLike) -> NDArray[np.int64]:
        """Return the episode of each frame, in the shape of ``frame``."""
        found = np.searchsorted(self.episode_offsets, frame, side="right") - 1
        return np.asarray(found, dtype=np.int64)

    def step_of(self, frame: ArrayLike) -> NDArray[np.int64]:
        """Return the 0-based step inside its episode of each frame."""
        return np.asarray(frame) - self.episode_offsets[self.episode_of(frame)]

    def rows_of(self, episode: int) -> slice:
        """Return the rows of one episode as a slice."""
        start, stop = self.episode_offsets[episode : episode + 2]
        return slice(int(start), int(stop))

    def subset(self, episodes: Sequence[int]) -> "Latents":
        """Return the latents of some episodes, in the order given."""
        if len(episodes) == 0:
            raise LatentsError("A subset needs at least 1 episode, got 0.")
        for episode in episodes:
            self.require_episode("episode", episode)
        parts = [self.z[self.rows_of(int(episode))] for episode in episodes]
        return Latents.from_episodes(parts, provenance=self.provenance)

    def require_episode(self, name: str, episode: int) -> int:
        """Return ``episode`` as an int, or say which episodes exist."""
        if not is_integer(episode) or not 0 <= episode < self.num_episodes:
            raise GraphError(
                f"{name} must be an episode in [0, {self.num_episodes}), "
                f"got {episode!r}."
            )
        return int(episode)

    def require_frame(self, name: str, frame: int) -> int:
        """Return ``frame`` as an int, or say which frames exist."""
        if not is_integer(frame) or not 0 <= frame < self.num_frames:
            raise GraphError(
                f"{name} must be a frame in [0, {self.num_frames}), got {frame!r}."
            )
        return int(frame)

    def require_vector(self, name: str, vector: ArrayLike) -> Vector:
        """Return a read-only copy of a goal or observation, its values untouched."""
        given = _as_array(name, vector)
        if given.shape != (self.dim,):
            raise LatentsError(
                f"{name} must have shape ({self.dim},), got {given.shape}."
            )
        kept = np.array(given, dtype=_real_dtype(name, given), order="C")
        # The index computes in float32, where a large float64 becomes infinite.
        with np.errstate(over="ignore"):
            wrong = int(np.count_nonzero(~np.isfinite(kept.astype(np.float32))))
        if wrong:
            raise LatentsError(
                f"{name} has {wrong} NaN or infinite values (in float32) "
                f"of {kept.size}."
            )
        return _read_only(kept)


def offsets_from_lengths(lengths: ArrayLike) -> Offsets:
    """Return ``[M + 1]`` offsets for ``[M]`` episode lengths."""
    lengths = _as_array("Episode lengths", lengths)
    if lengths.ndim != 1 or lengths.dtype.kind not in "iu":
        raise LatentsError(
            f"Episode lengths must be a 1-d array of integers, "
            f"got shape {lengths.shape} of {lengths.dtype}."
        )
    # Their sum must not wrap around: it would look like a small number of frames.
    wrong = np.flatnonzero((lengths < 0) | (lengths > _MOST_FRAMES))
    if len(wrong):
        raise LatentsError(
            f"Every episode length must be within [0, {_MOST_FRAMES}], "
            f"episode {wrong[0]} has {lengths[wrong[0]]}."
        )
    return np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])


def is_integer(value: object) -> bool:
    """Return whether ``value`` is a Python or NumPy integer, and not a bool."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _real_dtype(name: str, array: NDArray[Any]) -> type[np.floating[Any]]:
    if array.dtype.kind not in "fiu":
        raise LatentsError(f"{name} must hold real numbers, got dtype {array.dtype}.")
    return np.float32 if array.dtype in (np.float32, np.float16) else np.float64


def _as_array(name: str, given: ArrayLike) -> NDArray[Any]:
    try:
        return np.asarray(given)
    except ValueError as error:  # NumPy makes no array of lists of several lengths
        raise LatentsError(
            f"{name} must be one array, got lists of different lengths."
        ) from error


def _as_rows(z: ArrayLike) -> LatentArray:
    given = _as_array("Latents", z)
    if given.ndim != 2 or given.shape[1] == 0:
        raise LatentsError(f"Latents must have shape [N, D], got {given.shape}.")
    if len(given) == 0:
        raise LatentsError("The corpus is empty: got 0 frames, need at least 1.")
    _real_dtype("Latents", given)
    with np.errstate(over="ignore"):  # too large for float32: reported as infinite
        return np.ascontiguousarray(given, dtype=np.float32)


def _as_offsets(offsets: ArrayLike, num_frames: int) -> Offsets:
    given = _as_array("episode_offsets", offsets)
    if given.ndim != 1 or given.dtype.kind not in "iu" or len(given) < 2:
        raise LatentsError(
            f"episode_offsets must be [M + 1] integers with M >= 1, "
            f"got shape {given.shape} of {given.dtype}."
        )
    # Before anything is subtracted: differences of large numbers wrap around.
    least, most = given.min(), given.max()
    if (given[0], given[-1]) != (0, num_frames) or (least, most) != (0, num_frames):
        raise LatentsError(
            f"episode_offsets must run from 0 to the {num_frames} rows of the latents, "
            f"got {given[0]} to {given[-1]}, all within [{least}, {most}]."
        )
    kept = given.astype(np.int64)
    short = np.flatnonzero(np.diff(kept) <= 0)
    if len(short):
        raise LatentsError(
            f"Every episode needs at least 1 frame; episode {short[0]} has "
            f"{kept[short[0] + 1] - kept[short[0]]} "
            f"({len(short)} such of {len(kept) - 1})."
        )
    return kept


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return the array itself, read-only from now on."""
    array.setflags(write=False)
    return array


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    # A view, because the caller's own array must stay writeable.
    view = array.view()
    view.setflags(write=False)
    return view
