"""Encode all frames of a corpus with a model; latents on disk, resumable."""

import json
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch

from metro.core.latents import Latents, offsets_from_lengths
from metro.data.corpus import Corpus
from metro.data.provenance import (
    Encoder,
    encode_frames,
    provenance,
    require_fitting,
)
from metro.errors import LatentsError
from metro.models.adapter import as_world_model
from metro.models.allocator import keep_freed_memory
from metro.models.devices import choose_device, encoder_flops, measure_peak
from metro.models.frozen import FrozenModel
from metro.storage.artefacts import save
from metro.storage.atomic import require_writable
from metro.storage.lock import only_writer
from metro.storage.parts import Part, Parts
from metro.types import LatentArray, Progress

Done = TypeVar("Done")


@dataclass(frozen=True)
class Encoding:
    """Latents on disk, and how fast they were made.

    Attributes:
        latents: The latents, as written to ``path``.
        path: The directory they were written to.
        device: The device they were computed on.
        frames_per_second: Speed of this call, reading included; 0 if nothing was left
            to do.
        share_of_peak: The encoder's arithmetic at that speed over what a matrix
            product reaches on the same device; None for models other than ours.
    """

    latents: Latents
    path: Path
    device: str
    frames_per_second: float
    share_of_peak: float | None


def encode_corpus(
    corpus: Corpus,
    model: Encoder,
    path: str | Path,
    *,
    device: str | None = None,
    progress: Progress | None = None,
    force: bool = False,
) -> Encoding:
    """Encode every frame of a corpus and write the latents to ``path``.

    Interrupted, it keeps what was done in ``PATH.parts``; the same call resumes.

    Args:
        corpus: As `metro.data.corpus.open_corpus` returns it.
        model: Any object with ``encode``. The frame size and rendering that it states,
            if any, must be the corpus'.
        path: The ``*.latents`` directory to write.
        device: Where to encode, as torch names it; None takes a GPU if there is one.
        progress: Called with (done, total) frames.
        force: Replace latents that are already there.
    """
    path = Path(path)
    require_writable(path, force=force)
    require_fitting(corpus, model)
    model, chosen = _placed(model, device)
    made_from = provenance(corpus, model)
    key = [made_from[part]["digest"] for part in ("model", "corpus")]
    with only_writer(path):
        parts = Parts(f"{path}.parts", json.dumps(key))
        rows = _Rows(corpus)
        for part in parts.finished():
            rows.put(part)
        left = len(rows.done) - np.count_nonzero(rows.done)
        started = time.monotonic()
        _encode_rest(corpus, model, rows, parts, progress)
        seconds = time.monotonic() - started
        latents = Latents(rows.z, offsets_from_lengths(corpus.lengths), made_from)
        save(latents, path, force=force)
        parts.remove()
    speed = float(left) / max(seconds, 1e-9)
    return Encoding(latents, path, chosen, speed, _share_of_peak(model, speed))


def encode_in_memory(
    corpus: Corpus,
    model: Encoder,
    *,
    device: str | None = None,
    progress: Progress | None = None,
) -> Latents:
    """Return the latents of every frame of a corpus without writing anything."""
    require_fitting(corpus, model)
    model, _ = _placed(model, device)
    rows: list[LatentArray] = []
    done = 0
    for z in _latents(corpus, model, range(corpus.num_episodes)):
        rows.append(z)
        done += len(z)
        if progress is not None:
            progress(done, corpus.num_frames)
    offsets = offsets_from_lengths(corpus.lengths)
    return Latents(np.concatenate(rows), offsets, provenance(corpus, model))


def _placed(model: Encoder, device: str | None) -> tuple[Encoder, str]:
    """Return the model where it encodes, and that device; torch modules are moved."""
    keep_freed_memory()
    chosen = choose_device(device)
    if hasattr(model, "rollout"):
        model = as_world_model(model).to(chosen)
    return model, chosen


def _share_of_peak(model: Encoder, frames_per_second: float) -> float | None:
    if not isinstance(model, FrozenModel):
        return None
    return frames_per_second * encoder_flops(model) / measure_peak(str(model.device))


class _Rows:
    """Latents that arrive in any order, each with the number of its frame.

    Attributes:
        z: ``[N, D]`` the latents; without rows before the first ones are known.
        done: ``[N]`` which frames are encoded.
    """

    def __init__(self, corpus: Corpus) -> None:
        self.z: LatentArray = np.empty((0, 0), np.float32)
        self.done = np.zeros(corpus.num_frames, np.bool_)

    def put(self, part: Part) -> None:
        """Take the latents ``z`` of the frames ``frames``."""
        if not len(self.z):
            self.z = np.empty((len(self.done), *part["z"].shape[1:]), part["z"].dtype)
        if part["z"].shape[1] != self.z.shape[1]:
            raise LatentsError(
                f"The model's latents have {self.z.shape[1]} numbers for some frames "
                f"and {part['z'].shape[1]} for others; it must always be as many."
            )
        self.z[part["frames"]] = part["z"]
        self.done[part["frames"]] = True


def _encode_rest(
    corpus: Corpus,
    model: Encoder,
    rows: _Rows,
    parts: Parts,
    progress: Progress | None,
) -> None:
    """Encode the episodes that are not done yet."""
    ends = corpus.offsets + corpus.lengths
    frames = [np.arange(*edges) for edges in zip(corpus.offsets, ends, strict=True)]
    left = [number for number, own in enumerate(frames) if not rows.done[own].all()]
    with parts:
        for number, z in zip(left, _latents(corpus, model, left), strict=True):
            part = {"frames": frames[number], "z": z}
            rows.put(part)
            parts.add(part)
            if progress is not None:
                progress(int(np.count_nonzero(rows.done)), corpus.num_frames)


def _latents(
    corpus: Corpus, model: Encoder, episodes: Sequence[int]
) -> Iterator[LatentArray]:
    """Yield the latents of every episode.

    On a CPU each of torch's threads takes whole episodes. Sharing the small products of
    one episode they would wait for each other, most of the time on a busy machine, and
    rounding could depend on their number. Elsewhere the next episode is read while
    one is encoded.
    """
    if not isinstance(model, FrozenModel) or model.device.type != "cpu":
        with ThreadPoolExecutor(1) as reader:
            for frames in _in_order(reader, corpus.frames, episodes, 1):
                yield encode_frames(model, frames)
        return
    threads = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, initializer=_use_one_thread) as workers:
            yield from _in_order(
                workers,
                lambda episode: encode_frames(model, corpus.frames(episode)),
                episodes,
                2 * threads,
            )
    finally:
        # The number is the process's, not the pool's.
        torch.set_num_threads(threads)


def _use_one_thread() -> None:
    torch.set_num_threads(1)


def _in_order(
    pool: ThreadPoolExecutor,
    work: Callable[[int], Done],
    items: Sequence[int],
    ahead: int,
) -> Iterator[Done]:
    """Yield ``work`` of every item, that of the next few being under way."""
    waiting: deque[Future[Done]] = deque()
    for item in items:
        waiting.append(pool.submit(work, item))
        if len(waiting) > ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
