"""``metro convert``: recordings of any format to one HDF5 file in the released layout.

Finished episodes wait beside the output (`metro.data.collect.assembly`), so that the
same command resumes, and an interrupted run gives the bytes of one that was not.
"""

import json
import os
import shutil
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.data.collect.assembly import (
    assemble,
    episode_file,
    find_missing,
    open_folder,
    require_free,
)
from metro.data.collect.episode import GZIP_LEVEL, Episode, save_episode
from metro.data.corpus import Corpus
from metro.data.formats.hdf5_layout import PIXELS
from metro.errors import CorpusError, StorageError, one_line
from metro.storage.lock import only_writer
from metro.types import Progress


def convert_corpus(
    corpus: Corpus,
    path: str | Path,
    *,
    image_size: int | None = None,
    progress: Progress | None = None,
    force: bool = False,
) -> None:
    """Write a corpus of any format to the HDF5 file ``path``, in the released layout.

    Actions become float32 ``[N, A]``; all other columns stay as they are, ``_`` in
    place of ``/`` in their names.

    Args:
        corpus: As `metro.data.corpus.open_corpus` returns it.
        path: The file to create.
        image_size: Pixels along a side: the square in the middle of every frame is
            resized to it. None keeps frames as they are, which must be square.
        progress: Called with (done, total) frames.
        force: Replace a corpus that metro wrote; never anything else.
    """
    path = Path(path)
    require_free(path, force=force)
    size = _require_size(corpus, image_size)
    columns = _find_columns(corpus)
    made_from = {"kind": corpus.kind, "digest": corpus.digest, "image_size": size}
    settings = json.dumps({**corpus.settings, "converted": made_from}, sort_keys=True)
    try:
        with only_writer(path):
            folder = open_folder(path, settings)
            missing = find_missing(folder, corpus.num_episodes)
            _convert(corpus, columns, missing, size, folder, progress)
            assemble(
                folder,
                path,
                episodes=corpus.num_episodes,
                image_size=size,
                settings=settings,
            )
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise StorageError(
            f"{path} cannot be written: {one_line(error)}. What was converted is kept; "
            f"the same command resumes from there."
        ) from error


def _require_size(corpus: Corpus, wanted: int | None) -> int:
    height, width, _ = corpus.frame_shape
    if wanted is None and height != width:
        raise CorpusError(
            f"{corpus.name} has frames of {height} x {width}, the released layout has "
            f"square ones. Give image_size (--image-size 224): the square in the "
            f"middle is taken."
        )
    if wanted is not None and wanted < 1:
        raise CorpusError(f"image_size must be 1 or more, got {wanted}.")
    return wanted or int(height)


def _find_columns(corpus: Corpus) -> dict[str, NDArray[Any]]:
    """Return all columns but pixels, ``[N, ...]`` each."""
    if corpus.action_size is None:
        raise CorpusError(
            f"{corpus.name} has no column 'action', which planning needs; it has "
            f"{', '.join(corpus.columns)}. Add it, or use metro encode as it is."
        )
    names = [name for name in corpus.columns if name != PIXELS]
    written = [name.replace("/", "_") for name in names]
    twice = [name for name in written if written.count(name) > 1]
    if twice:
        raise CorpusError(
            f"{corpus.name} has two columns that would be called {twice[0]}. Rename "
            f"one."
        )
    columns = {name: corpus.column(name) for name in names}
    action = columns["action"].reshape(corpus.num_frames, -1)
    return columns | {"action": action.astype(np.float32)}


def _convert(
    corpus: Corpus,
    columns: dict[str, NDArray[Any]],
    missing: Sequence[int],
    size: int,
    folder: Path,
    progress: Progress | None,
) -> None:
    """Write the missing episodes to the folder, one at a time."""
    done = corpus.num_frames - int(corpus.lengths[list(missing)].sum())
    if progress is not None:
        progress(done, corpus.num_frames)
    # zlib lets other threads run; each picture is compressed on its own.
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        for number in missing:
            frames = corpus.frames(number)
            pictures = pool.map(lambda frame: _compressed(frame, size), frames)
            first, length = int(corpus.offsets[number]), int(corpus.lengths[number])
            own = {name: rows[first : first + length] for name, rows in columns.items()}
            episode = Episode(own, list(pictures))
            save_episode(episode, episode_file(folder, number))
            done += length
            if progress is not None:
                progress(done, corpus.num_frames)


def _compressed(frame: NDArray[np.uint8], size: int) -> bytes:
    return zlib.compress(np.ascontiguousarray(_fitted(frame, size)).data, GZIP_LEVEL)


def _fitted(frame: NDArray[np.uint8], size: int) -> NDArray[np.uint8]:
    """Return the square in the middle of a frame, ``[size, size, 3]``."""
    height, width, _ = frame.shape
    if height == width == size:
        return frame
    from PIL import Image

    side = min(height, width)
    left, top = (width - side) // 2, (height - side) // 2
    square = frame[top : top + side, left : left + side]
    resized = Image.fromarray(square).resize((size, size), Image.Resampling.BILINEAR)
    return np.asarray(resized)
