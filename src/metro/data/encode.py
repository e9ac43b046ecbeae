"""A corpus through a frozen model: latents on disk, resumable, with provenance."""

import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch

from metro.core.latents import Latents, offsets_from_lengths
from metro.data.corpus import Corpus
from metro.errors import CorpusError
from metro.models.allocator import keep_freed_memory
from metro.models.devices import choose_device, encoder_flops, measure_peak
from metro.models.frozen import FrozenModel
from metro.storage.artefacts import save
from metro.storage.atomic import require_writable
from metro.storage.latent_parts import LatentParts
from metro.types import LatentArray, Progress, WorldModel

Done = TypeVar("Done")


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
        corpus: As `metro.data.corpus.open_corpus` returns it.
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
    parts = LatentParts(
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
    corpus: Corpus, model: WorldModel, parts: LatentParts, progress: Progress | None
) -> None:
    """Encode from the first episode that is not done, others being under way."""
    first = int(np.searchsorted(corpus.offsets, parts.num_rows))
    episodes = range(first, corpus.num_episodes)
    with parts:
        for z in _latents(corpus, model, episodes):
            parts.add(z)
            if progress is not None:
                progress(parts.num_rows, corpus.num_frames)


def _latents(
    corpus: Corpus, model: WorldModel, episodes: range
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
                yield model.encode(frames)
        return
    threads = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(threads, initializer=_use_one_thread) as workers:
            yield from _in_order(
                workers,
                lambda episode: model.encode(corpus.frames(episode)),
                episodes,
                2 * threads,
            )
    finally:
        torch.set_num_threads(threads)


def _use_one_thread() -> None:
    torch.set_num_threads(1)


def _in_order(
    pool: ThreadPoolExecutor, work: Callable[[int], Done], items: range, ahead: int
) -> Iterator[Done]:
    """Yield ``work`` of every item, that of the next few being under way."""
    waiting: deque[Future[Done]] = deque()
    for item in items:
        waiting.append(pool.submit(work, item))
        if len(waiting) > ahead:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()
