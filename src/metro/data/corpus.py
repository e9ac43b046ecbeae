"""Recordings on disk, read episode by episode whatever their format.

`metro.data.formats` has one file per format; what else
``stable_worldmodel.data.load_dataset`` opens (Lance, folders) is read through it.
"""

import hashlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from metro.benchmark import Benchmark
from metro.data.formats.hdf5_layout import PIXELS
from metro.data.formats.sources import Source, open_source
from metro.errors import CorpusError
from metro.types import Progress, StateColumns

if TYPE_CHECKING:
    from metro.core.graph import FrameGraph
    from metro.data.provenance import Encoder

_SAMPLED = 64
"""Episodes whose first frame goes into the digest; all other columns do in full."""


class Corpus:
    """Recorded episodes: their columns in memory, their frames only when asked for.

    Rows of all episodes follow one another; ``lengths[e]`` rows from ``offsets[e]`` on
    are episode e.
    """

    def __init__(self, name: str, source: Source, *, is_square: bool = True) -> None:
        self.name = name
        self.kind = source.kind
        self._source = source
        self.lengths = _whole_numbers(name, "ep_len", source.lengths)
        self.offsets = _whole_numbers(name, "ep_offset", source.offsets)
        self.shapes = source.shapes
        self.columns = sorted(source.shapes)
        _check(name, self.lengths, self.offsets, source.shapes)
        if is_square:
            _require_square(name, self.frame_shape)
        self.image_size = int(self.frame_shape[0])
        settings = source.settings
        self.settings: Mapping[str, Any] = settings
        """How metro recorded it; empty for recordings of others."""
        self.benchmark: str | None = settings.get("benchmark")
        self.rendering: str | None = settings.get("rendering")

    @property
    def frame_shape(self) -> tuple[int, ...]:
        """Height, width and channels of a frame."""
        return tuple(self.shapes[PIXELS][1:])

    @property
    def frame_dtype(self) -> np.dtype[Any]:
        """The type of pixels as they are stored; the first frame is read for it."""
        return np.dtype(self._source.read_frames(0, 1).dtype)

    @property
    def action_size(self) -> int | None:
        """Numbers of an action; None if no actions were recorded."""
        shape = self.shapes.get("action")
        return None if shape is None else int(np.prod(shape[1:]))

    @property
    def num_episodes(self) -> int:
        """How many episodes there are."""
        return len(self.lengths)

    @property
    def num_frames(self) -> int:
        """How many rows there are."""
        return int(self.lengths.sum())

    def column(self, name: str) -> NDArray[Any]:
        """Return all rows of a column, ``[N, ...]``; never of pixels."""
        self._require_column(name)
        if name == PIXELS:
            raise CorpusError(
                f"The pixels of {self.name} are not read as a whole. "
                f"Use frames(episode)."
            )
        return self._source.read(name)

    def frames(self, episode: int) -> NDArray[np.uint8]:
        """Return the frames of one episode, ``[L, S, S, 3]``."""
        if not 0 <= episode < self.num_episodes:
            raise CorpusError(
                f"episode must be in [0, {self.num_episodes}), got {episode}."
            )
        return self._frames(episode)

    def row(self, frame: int) -> StateColumns:
        """Return the columns of one row but pixels: what restores a state."""
        names = (name for name in self.columns if name != PIXELS)
        return {name: self._columns(name)[frame] for name in names}

    def require(self, benchmark: Benchmark) -> None:
        """Raise `CorpusError` if this is a recording of something else."""
        if self.benchmark not in (None, benchmark.name):
            raise CorpusError(
                f"{self.name} is a recording of {self.benchmark}, not of "
                f"{benchmark.name}. Give one of {benchmark.name}, or name that "
                f"benchmark."
            )
        sizes = {"action": benchmark.action_size, **benchmark.column_sizes}
        for column in (*sizes, *benchmark.restore.values(), *benchmark.goal.values()):
            self._require_column(column)
        for column, wanted in sizes.items():
            size = int(np.prod(self._source.shapes[column][1:]))
            if size != wanted:
                raise CorpusError(
                    f"{self.name} has {column} of {size} numbers, {benchmark.name} "
                    f"takes {wanted}: it is a recording of something else."
                )

    @cached_property
    def digest(self) -> str:
        """The sha256 of all columns, and of a sample of the frames."""
        summary = hashlib.sha256()
        for name in self.columns:
            summary.update(f"{name}{self._source.shapes[name]}".encode())
            if name != PIXELS:
                summary.update(self._columns(name).tobytes())
        # All frames would take minutes; columns differ wherever recordings do.
        for episode in np.unique(
            np.linspace(0, self.num_episodes - 1, _SAMPLED).astype(int)
        ):
            summary.update(self._frames(int(episode), 1).tobytes())
        return summary.hexdigest()

    def digest_frames(self, progress: Progress | None = None) -> str:
        """Return the sha256 of every frame; unlike `digest` it reads them all.

        Args:
            progress: Called with (done, total) frames.
        """
        summary, done = hashlib.sha256(), 0
        for episode in range(self.num_episodes):
            frames = self._frames(episode)
            summary.update(np.ascontiguousarray(frames).data)
            done += len(frames)
            if progress is not None:
                progress(done, self.num_frames)
        return summary.hexdigest()

    def build_graph(self, model: "Encoder", **options: Any) -> "FrameGraph":
        """Return the frame graph of this corpus under ``model``.

        The options are those of `metro.data.graph_cache.build_corpus_graph`.
        """
        # Imported here: reading a corpus must not load torch.
        from metro.data.graph_cache import build_corpus_graph

        return build_corpus_graph(self, model, **options)

    def close(self) -> None:
        """Close the file."""
        self._source.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _frames(self, episode: int, count: int | None = None) -> NDArray[np.uint8]:
        """Return the first frames of an episode, all if None, checked."""
        frames = self._source.read_frames(episode, count)
        if frames.dtype == np.uint8:
            return frames
        # NumPy would turn NaN and -1 into some brightness, without a word.
        if frames.dtype.kind not in "biuf" or not np.all(
            (frames >= 0) & (frames < 256)
        ):
            raise CorpusError(
                f"{self.name}: pixels must be 0 to 255; episode {episode} has others "
                f"({frames.dtype}), perhaps NaN. Record it again."
            )
        return frames.astype(np.uint8)

    def _columns(self, name: str) -> NDArray[Any]:
        if name not in self._kept:
            self._kept[name] = self._source.read(name)
        return self._kept[name]

    @cached_property
    def _kept(self) -> dict[str, NDArray[Any]]:
        return {}

    def _require_column(self, name: str) -> None:
        if name not in self.columns:
            raise CorpusError(
                f"{self.name} has no column {name!r}; it has {', '.join(self.columns)}."
            )


def open_corpus(
    path: str | Path,
    *,
    episode_lengths: int | None = None,
    camera: str | None = None,
    is_square: bool = True,
) -> Corpus:
    """Return the corpus at ``path``; close it after use, or use it in ``with``.

    Args:
        path: A file, a folder, or a name that stable_worldmodel knows.
        episode_lengths: Rows of every episode, for arrays that do not say it.
        camera: Which pictures, for recordings of several cameras.
        is_square: Refuse frames that are not square, which no model takes.
    """
    source = open_source(str(path), episode_lengths, camera)
    return Corpus(str(path), source, is_square=is_square)


def _whole_numbers(name: str, column: str, values: NDArray[Any]) -> NDArray[np.int64]:
    numbers = np.asarray(values)
    if numbers.ndim != 1 or numbers.dtype.kind not in "iu":
        raise CorpusError(
            f"{name}: {column} must be whole numbers [M], got {numbers.dtype} "
            f"{list(numbers.shape)}. Record it again."
        )
    return numbers.astype(np.int64)


def _check(
    name: str,
    lengths: NDArray[np.int64],
    offsets: NDArray[np.int64],
    shapes: Mapping[str, tuple[int, ...]],
) -> None:
    if PIXELS not in shapes:
        raise CorpusError(
            f"{name} has no column 'pixels'; it has {', '.join(sorted(shapes))}."
        )
    rows = {column: shape[0] if shape else 0 for column, shape in shapes.items()}
    shape = shapes[PIXELS] or ()
    if len(shape) != 4 or shape[3] != 3:
        raise CorpusError(
            f"{name}: pixels must be pictures [N, S, S, 3], got {list(shape)}."
        )
    if len(lengths) == 0 or lengths.min() < 1:
        raise CorpusError(f"{name} has no episodes, or empty ones. Record it again.")
    # In Python's integers: lengths of a damaged file may sum to more than 64 bits.
    total = sum(lengths.tolist())
    ends = np.cumsum(lengths)
    if not np.array_equal(offsets, ends - lengths):
        raise CorpusError(
            f"{name}: episodes must follow one another, but ep_offset is not the "
            f"running sum of ep_len. Record it again."
        )
    for column, count in rows.items():
        if count != total:
            raise CorpusError(
                f"{name}: its episodes have {total} rows, its column {column!r} has "
                f"{count}. It is half written or damaged: record it again."
            )


def _require_square(name: str, shape: tuple[int, ...]) -> None:
    if shape[0] != shape[1]:
        raise CorpusError(
            f"{name}: pixels must be square pictures, got {shape[0]} x {shape[1]}. "
            f"metro convert with --image-size takes the square in their middle."
        )
