"""A corpus through a frozen model: latents on disk, resumable, with provenance."""

import json
import os
import shutil
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro._places import require_writable
from metro.errors import CorpusError
from metro.integrations.corpora import Corpus
from metro.integrations.models.frozen import FrozenModel
from metro.integrations.models.memory import keep_freed_memory
from metro.integrations.models.speed import choose_device, encoder_flops, measure_peak
from metro.latents import Latents, offsets_from_lengths
from metro.storage import save
from metro.types import Progress, Rows, WorldModel

_EVERY_SECONDS = 10.0


@dataclass(frozen=True)
class Encoding:
    """Latents on disk, and how fast they were made.

    Attributes:
        latents: As written to ``path``.
        path: The directory.
        device: Where they were computed.
        frames_per_second: Of what this call encoded, reading included; 0 if nothing
            was left to do.
        share_of_peak: The encoder's arithmetic at that speed over what a matrix
            product reaches on the same device; None for models of others.
    """

    latents: Latents
    path: Path
    device: str
    frames_per_second: float
    share_of_peak: float | None


def encode_corpus(
    corpus: Corpus,
    model: WorldModel,
    path: str | Path,
    *,
    device: str | None = None,
    progress: Progress | None = None,
    force: bool = False,
) -> Encoding:
    """Encode every frame of a corpus and write the latents to ``path``.

    Interrupted, it keeps what was done in ``PATH.parts``; the same call goes on.

    Args:
        corpus: As `metro.integrations.corpora.open_corpus` returns it.
        model: Any world model; its frame size and rendering must be the corpus'.
        path: The ``*.latents`` directory to write.
        device: As torch names it; None: a GPU if there is one.
        progress: Called with (done, total) frames.
        force: Replace latents that are already there.
    """
    path = Path(path)
    require_writable(path, force=force)
    require_fitting(corpus, model)
    keep_freed_memory()
    chosen = choose_device(device)
    if isinstance(model, FrozenModel):
        model.to(chosen)
    parts = _Parts(
        Path(f"{path}.parts"), {"model": model.digest, "corpus": corpus.digest}
    )
    started, before = time.monotonic(), parts.num_rows
    _encode_rest(corpus, model, parts, progress)
    seconds = time.monotonic() - started
    offsets = offsets_from_lengths(corpus.lengths)
    latents = Latents(parts.rows(), offsets, provenance(corpus, model))
    save(latents, path, force=force)
    parts.remove()
    speed = (corpus.num_frames - before) / max(seconds, 1e-9)
    return Encoding(latents, path, chosen, speed, _share_of_peak(model, speed))


def provenance(corpus: Corpus, model: WorldModel) -> dict[str, Any]:
    """Return what latents say about where they come from, as JSON values."""
    return {
        "model": {"name": _name(model), "digest": model.digest},
        "corpus": {"name": Path(corpus.name).name, "digest": corpus.digest},
        "benchmark": corpus.benchmark or _benchmark(model),
        "rendering": corpus.rendering or model.rendering,
        "image_size": corpus.image_size,
    }


def require_fitting(corpus: Corpus, model: WorldModel) -> None:
    """Raise `CorpusError` if the frames are not what the model was trained on.

    Decision: D12.
    """
    name, benchmark = _name(model), _benchmark(model)
    if corpus.image_size != model.image_size:
        raise CorpusError(
            f"{corpus.name} has frames of {corpus.image_size} px, {name} takes "
            f"{model.image_size} px. Record with --image-size {model.image_size}."
        )
    if corpus.rendering not in (None, model.rendering):
        raise CorpusError(
            f"{corpus.name} was drawn with rendering {corpus.rendering}, {name} "
            f"needs {model.rendering}. Record with --rendering {model.rendering}."
        )
    if None not in (corpus.benchmark, benchmark) and corpus.benchmark != benchmark:
        raise CorpusError(
            f"{corpus.name} is a recording of {corpus.benchmark}, {name} is a "
            f"model of {benchmark}. Give the one that belongs to the other."
        )
    if "action" in corpus.columns:
        size = corpus.column("action").shape[1]
        if size != model.action_size:
            raise CorpusError(
                f"{corpus.name} has actions of {size} numbers, {name} takes "
                f"{model.action_size}. It is a recording of something else."
            )


def _name(model: WorldModel) -> str:
    return str(getattr(model, "name", type(model).__name__))


def _benchmark(model: WorldModel) -> str | None:
    return getattr(model, "benchmark", None)


def _share_of_peak(model: WorldModel, frames_per_second: float) -> float | None:
    if not isinstance(model, FrozenModel):
        return None
    return frames_per_second * encoder_flops(model) / measure_peak(str(model.device))


def _encode_rest(
    corpus: Corpus, model: WorldModel, parts: "_Parts", progress: Progress | None
) -> None:
    """Encode from the first episode that is not done; the next is read meanwhile."""
    done = int(np.searchsorted(corpus.offsets, parts.num_rows))
    with ThreadPoolExecutor(1) as reader, parts:
        for frames in _read_ahead(corpus, done, reader):
            parts.add(model.encode(frames))
            if progress is not None:
                progress(parts.num_rows, corpus.num_frames)


def _read_ahead(
    corpus: Corpus, first: int, reader: ThreadPoolExecutor
) -> Iterator[NDArray[np.uint8]]:
    """Yield the frames of every episode from ``first`` on."""
    if first >= corpus.num_episodes:
        return
    following = reader.submit(corpus.frames, first)
    for episode in range(first, corpus.num_episodes):
        frames = following.result()
        if episode + 1 < corpus.num_episodes:
            following = reader.submit(corpus.frames, episode + 1)
        yield frames


class _Parts:
    """Latents of finished episodes in a directory, a file for every ten seconds.

    Used as a context, it writes what waits when the block is left, however it is left.

    Args:
        directory: Made when the first part is written.
        key: What the latents depend on; parts of another key are thrown away.
    """

    def __init__(self, directory: Path, key: dict[str, str]) -> None:
        self._directory, self._key = directory, json.dumps(key, sort_keys=True)
        note = directory / "key.json"
        if directory.exists() and (not note.exists() or note.read_text() != self._key):
            shutil.rmtree(directory)
        self._written = [np.load(file) for file in sorted(directory.glob("part-*.npy"))]
        self._waiting: list[Rows] = []
        self.num_rows = sum(len(part) for part in self._written)
        self._last = time.monotonic()

    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        self._flush()

    def add(self, z: Rows) -> None:
        """Take the latents of the next episode; write those that wait if it is time."""
        self._waiting.append(z)
        self.num_rows += len(z)
        if time.monotonic() - self._last > _EVERY_SECONDS:
            self._flush()

    def rows(self) -> Rows:
        """Return all latents, ``[N, D]``."""
        return np.concatenate([*self._written, *self._waiting])

    def remove(self) -> None:
        """Delete the directory: the latents are written."""
        shutil.rmtree(self._directory, ignore_errors=True)

    def _flush(self) -> None:
        if not self._waiting:
            return
        self._directory.mkdir(parents=True, exist_ok=True)
        (self._directory / "key.json").write_text(self._key)
        part = np.concatenate(self._waiting)
        unfinished = self._directory / "unfinished.npy"
        np.save(unfinished, part)
        os.replace(unfinished, self._directory / f"part-{len(self._written):06d}.npy")
        self._written.append(part)
        self._waiting, self._last = [], time.monotonic()
