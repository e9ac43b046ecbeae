"""Which model and corpus belong together, and what latents say about their origin.

A model is any object with ``encode``. What else it may have is used where it is there:
``digest``, ``name``, ``benchmark``, ``image_size``, ``rendering``, ``action_size``.
"""

import hashlib
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from metro.data.corpus import Corpus
from metro.errors import CorpusError, ModelError
from metro.types import LatentArray


class Encoder(Protocol):
    """Turns frames into latents: all that a graph needs of a world model."""

    def encode(self, frames: Any) -> Any:
        """Return ``[N, D]`` latents of frames ``[N, S, S, 3]`` uint8."""
        ...


def encode_frames(model: Encoder, frames: Any) -> LatentArray:
    """Return the latents of frames ``[N, S, S, 3]`` as float32 ``[N, D]``.

    Raises:
        ModelError: If the model returns anything but one finite row per frame.
    """
    z = model.encode(frames)
    # A tensor may be on a GPU or carry gradients; NumPy reads neither.
    rows = np.asarray(z.detach().cpu() if hasattr(z, "detach") else z, np.float32)
    if rows.ndim != 2 or len(rows) != len(frames):
        raise ModelError(
            f"{model_name(model)}.encode must return one latent per frame, "
            f"[{len(frames)}, D]; it returned {list(rows.shape)}."
        )
    return rows


def model_digest(model: Encoder, corpus: Corpus) -> str:
    """Return what identifies a model: its ``digest``, or else what it does.

    Without a digest it is the sha256 of how the model encodes the first episode of
    the corpus. A model that encodes it differently is another model.
    """
    digest = getattr(model, "digest", None)
    if digest is not None:
        return str(digest)
    first = encode_frames(model, corpus.frames(0))
    return hashlib.sha256(np.ascontiguousarray(first).data).hexdigest()


def model_name(model: object) -> str:
    """Return the ``name`` of a model, or else that of its class."""
    return str(getattr(model, "name", type(model).__name__))


def provenance(corpus: Corpus, model: Encoder) -> dict[str, Any]:
    """Return what latents say about where they come from, as JSON values."""
    return {
        "model": {"name": model_name(model), "digest": model_digest(model, corpus)},
        "corpus": {"name": Path(corpus.name).name, "digest": corpus.digest},
        "benchmark": corpus.benchmark or getattr(model, "benchmark", None),
        "rendering": corpus.rendering or getattr(model, "rendering", None),
        "image_size": corpus.image_size,
    }


def require_fitting(
    corpus: Corpus, model: object, benchmark: str | None = None
) -> None:
    """Raise `CorpusError` if the frames are not what the model was trained on.

    Only what the model states is compared. Decision: D12.

    Args:
        corpus: The recording.
        model: Any world model.
        benchmark: Benchmark that both are used for; None: the recording's own.
    """
    name, used_for = model_name(model), benchmark or corpus.benchmark
    image_size = getattr(model, "image_size", None)
    if image_size not in (None, corpus.image_size):
        raise CorpusError(
            f"{corpus.name} has frames of {corpus.image_size} px, {name} takes "
            f"{image_size} px. Record with --image-size {image_size}."
        )
    rendering = getattr(model, "rendering", None)
    if None not in (corpus.rendering, rendering) and corpus.rendering != rendering:
        raise CorpusError(
            f"{corpus.name} was drawn with rendering {corpus.rendering}, {name} "
            f"needs {rendering}. Record with --rendering {rendering}."
        )
    trained_for = getattr(model, "benchmark", None)
    if None not in (used_for, trained_for) and used_for != trained_for:
        raise CorpusError(
            f"{corpus.name} is a recording of {used_for}, {name} is a "
            f"model of {trained_for}. Give the one that belongs to the other."
        )
    _require_actions(corpus, name, getattr(model, "action_size", None))


def _require_actions(corpus: Corpus, name: str, action_size: int | None) -> None:
    if action_size is None or "action" not in corpus.columns:
        return
    size = int(np.prod(corpus.column("action").shape[1:]))
    if size != action_size:
        raise CorpusError(
            f"{corpus.name} has actions of {size} numbers, {name} takes "
            f"{action_size}. It is a recording of something else."
        )
