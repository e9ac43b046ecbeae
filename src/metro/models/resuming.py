"""Training that can be interrupted: steps, a log beside the file, checkpoints."""

import json
import time
from abc import ABC, abstractmethod
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Protocol

import torch

from metro.models.checkpoints import Checkpoint, resume, store
from metro.models.interrupts import interrupts_deferred
from metro.storage.atomic import write_atomically
from metro.types import Progress

CHECKPOINT_SECONDS = 120.0

CALIBRATION, QUICK_CALIBRATION = 40, 4
"""Batches that set the batch norms of the finished model, and of one in a check."""


class Steppable(Protocol):
    """What learns: a world model's learner, or a macro model's."""

    step: int
    """Optimiser steps done."""

    def state(self) -> dict[str, Any]:
        """Return its part of a checkpoint: network, heads, optimizer."""
        ...

    def restore(self, step: int, state: dict[str, Any]) -> None:
        """Go back to where a checkpoint was stored."""
        ...


class ResumableRun(ABC):
    """A learner's steps towards the file ``path``; Ctrl-C keeps what was done.

    Attributes:
        path: The file that the model becomes.
        learner: What learns.
        steps: Optimiser steps of the whole run.
        checks: How often in a run the model is measured.
        seconds: Time spent so far, interruptions left out.
        cpu_seconds: Processor time of it; does not grow with what else runs here.
        log: What was measured so far; in ``path.log.json``.
    """

    path: Path
    learner: Steppable
    steps: int

    def __init__(self, checks: int) -> None:
        self.checks = checks
        self.seconds = self.cpu_seconds = 0.0
        self.log: list[dict[str, Any]] = []

    @abstractmethod
    def advances(self) -> Generator[dict[str, float], None, None]:
        """Do a step, yield the terms of its loss, and so on."""

    @abstractmethod
    def measure(self) -> dict[str, Any]:
        """Return what the log says of the model as it is now."""

    @abstractmethod
    def key(self) -> str:
        """Return all that the run depends on, as text."""

    def go(self, progress: Progress | None) -> None:
        """Do the steps that are left; Ctrl-C stops after the step under way."""
        stored = time.monotonic()
        started = stored - self.seconds
        cpu_started = time.process_time() - self.cpu_seconds
        with interrupts_deferred() as asked, closing(self.advances()) as advances:
            while self.learner.step < self.steps:
                terms = next(advances)
                self.seconds = time.monotonic() - started
                self.cpu_seconds = time.process_time() - cpu_started
                self._check(terms)
                if asked() or time.monotonic() - stored > CHECKPOINT_SECONDS:
                    self._store()
                    stored = time.monotonic()
                if asked():
                    raise KeyboardInterrupt
                if progress is not None:
                    progress(self.learner.step, self.steps)

    def resume(self) -> None:
        """Go on from the checkpoint beside ``path``, if there is one."""
        checkpoint = resume(self.path, self.key())
        if checkpoint is not None:
            self.learner.restore(checkpoint.step, vars(checkpoint))
            self.seconds, self.log = checkpoint.seconds, checkpoint.log
            self.cpu_seconds = checkpoint.cpu_seconds

    def _check(self, terms: Mapping[str, float]) -> None:
        """Measure the model now and then, and at the end, and log it."""
        step = self.learner.step
        if step % max(1, self.steps // self.checks) and step != self.steps:
            return
        told = {name: round(term, 5) for name, term in terms.items()}
        entry = {"step": step, **told, **self.measure()}
        self.log.append(entry | {"seconds": round(self.seconds, 1)})
        text = json.dumps(self.log, indent=1)
        write_atomically(f"{self.path}.log.json", text.encode())

    def _store(self) -> None:
        learner = self.learner
        checkpoint = Checkpoint(
            self.key(),
            learner.step,
            self.seconds,
            self.cpu_seconds,
            self.log,
            **learner.state(),
        )
        store(self.path, checkpoint)


@contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Set torch's threads for a block of code."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
