"""Unfinished training on disk, beside the file it will become."""

import warnings
from dataclasses import dataclass, fields
from io import BytesIO
from pathlib import Path
from typing import Any

import torch

from metro.errors import ModelError
from metro.files import DAMAGE, require_regular_file
from metro.storage.atomic import write_atomically
from metro.storage.parts import has_digest, with_digest, without_digest

_ZIP_END_BYTES = 22
"""Of the record that ends an archive without a comment."""


@dataclass(frozen=True)
class Checkpoint:
    """All that the rest of a run depends on.

    Attributes:
        key: Sizes, settings and corpus; another run's checkpoint is refused.
        step: Optimiser steps done.
        seconds: Time they took.
        cpu_seconds: Processor time they took, all threads.
        log: What was measured so far.
        network: State dict.
        heads: State dict.
        optimizer: State dict.
    """

    key: str
    step: int
    seconds: float
    cpu_seconds: float
    log: list[dict[str, Any]]
    network: dict[str, Any]
    heads: dict[str, Any]
    optimizer: dict[str, Any]


def checkpoint_path(path: Path) -> Path:
    """Return where the checkpoint of the model ``path`` lies."""
    # Appended, since with_suffix would cut names that contain a dot.
    return Path(f"{path}.checkpoint")


def store(path: Path, checkpoint: Checkpoint) -> None:
    """Write a checkpoint, whole or not at all."""
    # Not dataclasses.asdict, which copies every tensor.
    contents = {
        item.name: getattr(checkpoint, item.name) for item in fields(checkpoint)
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    stream = BytesIO()
    torch.save(contents, stream)
    write_atomically(checkpoint_path(path), with_digest(stream.getvalue()))


def resume(path: Path, key: str) -> Checkpoint | None:
    """Return the checkpoint of this very run, or None if there is none.

    A damaged one is deleted, with a warning: the training is done again.
    """
    stored = checkpoint_path(path)
    if not stored.exists():
        return None
    # Not deleted: what is no file was not written by us.
    require_regular_file(stored, ModelError)
    try:
        # Tensors and plain values only: a checkpoint from elsewhere must not run code.
        stream = BytesIO(_content(stored))
        contents = torch.load(stream, map_location="cpu", weights_only=True)
        checkpoint = Checkpoint(**contents)
    except DAMAGE as error:
        warnings.warn(
            f"{stored} is damaged ({type(error).__name__}). It is deleted, and "
            f"training starts again.",
            RuntimeWarning,
            stacklevel=2,
        )
        stored.unlink()
        return None
    # Refused, not overwritten: it may hold hours of another run.
    if checkpoint.key != key:
        raise ModelError(
            f"{stored} belongs to a run with other settings or another corpus. "
            f"Delete it, or train to another file."
        )
    return checkpoint


def _content(stored: Path) -> bytes:
    """Return the bytes that torch wrote."""
    content = stored.read_bytes()
    # Those of earlier versions have no digest: they end with the end of an archive.
    if not has_digest(content) and content[-_ZIP_END_BYTES:].startswith(b"PK\5\6"):
        return content
    checked = without_digest(content)
    if checked is None:
        raise EOFError("its digest does not match")
    return checked


def remove(path: Path) -> None:
    """Delete the checkpoint: the model is written."""
    checkpoint_path(path).unlink(missing_ok=True)
