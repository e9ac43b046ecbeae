"""The one training loop: steps, a log beside the file, checkpoints, resuming.

What differs between world models and macro models is a `TrainingTask`.
"""

import json
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic

import numpy as np
import torch
from torch import nn

from metro.errors import ModelError
from metro.models.allocator import keep_freed_memory
from metro.models.checkpoints import Checkpoint, checkpoint_path, remove, resume, store
from metro.models.interrupts import interrupts_deferred
from metro.models.losses import total
from metro.models.training_task import Model, TrainingTask
from metro.storage.atomic import write_atomically
from metro.storage.lock import only_writer
from metro.types import Progress

# A crash loses two minutes at most; more writing would slow small models.
CHECKPOINT_SECONDS = 120.0

CALIBRATION, QUICK_CALIBRATION = 40, 4
"""Batches that set the batch norms of the finished model, and of one in a check."""

_MAX_GRADIENT_NORM = 1.0


@dataclass(frozen=True)
class Training(Generic[Model]):
    """The end of a training run.

    Attributes:
        model: The trained model, as written to ``path``.
        path: Its ``.safetensors`` file.
        steps: Optimiser steps.
        seconds: Time they took, interruptions left out.
        cpu_seconds: Processor time they took, all threads.
        log: What was measured on the way, one mapping per check; in ``path.log.json``.
    """

    model: Model
    path: Path
    steps: int
    seconds: float
    cpu_seconds: float
    log: list[dict[str, Any]] = field(repr=False)


@contextmanager
def run_training(
    make_task: Callable[[], TrainingTask[Model]],
    path: str | Path,
    *,
    threads: int,
    progress: Progress | None = None,
) -> Iterator[Training[Model]]:
    """Train a model and write it to ``path``; resume if it was interrupted.

    The same task gives the same file, also after interruptions. Ctrl-C keeps what was
    done: the next call resumes there. What belongs to the model is written inside the
    block; if that is interrupted, the next call comes to the block again.

    Args:
        make_task: Called once, with torch already set to ``threads``.
        path: The ``.safetensors`` file to write.
        threads: Number of torch threads; another number rounds differently.
        progress: Called with (done, total) steps.
    """
    path = Path(path)
    # Before any work: hours later there would be nowhere to write to. With a checkpoint
    # beside it, the model was written but not what belongs to it.
    if path.exists() and not checkpoint_path(path).exists():
        raise ModelError(f"{path} exists already. Delete it or choose another name.")
    keep_freed_memory()
    with only_writer(path):
        with torch_threads(threads):
            trainer = Trainer(make_task(), path)
            trainer.run(progress)
            model = trainer.task.freeze(CALIBRATION)
        trainer.task.save(model, path)
        spent = (trainer.seconds, trainer.cpu_seconds)
        yield Training(model, path, trainer.task.steps, *spent, trainer.log)
        # Only now: a crash while the model is written must not lose the training.
        remove(path)


class Trainer(Generic[Model]):
    """A task's optimiser steps towards the file ``path``.

    Every step draws its random numbers from the seed and its own number, so that three
    state dicts and the number of steps are all that resuming needs.

    Attributes:
        task: What is trained.
        path: The file that the model becomes.
        step: Optimiser steps done.
        seconds: Time spent so far, interruptions left out.
        cpu_seconds: Processor time of it; does not grow with what else runs here.
        log: What was measured so far; in ``path.log.json``.
    """

    def __init__(self, task: TrainingTask[Model], path: Path) -> None:
        self.task, self.path = task, path
        self.step, self.seconds, self.cpu_seconds = 0, 0.0, 0.0
        self.log: list[dict[str, Any]] = []
        trained = [*task.network.parameters(), *task.auxiliary.parameters()]
        self._parameters = [weight for weight in trained if weight.requires_grad]
        self._optimizer = torch.optim.AdamW(
            self._parameters, weight_decay=task.config.weight_decay, fused=True
        )
        self._restore()

    def run(self, progress: Progress | None) -> None:
        """Do the steps that are left; Ctrl-C stops after the step under way."""
        stored = time.monotonic()
        # As if begun earlier, so that the time before an interruption counts.
        started = stored - self.seconds
        cpu_started = time.process_time() - self.cpu_seconds
        # Closed on every way out, so that the reading thread ends with the run.
        with interrupts_deferred() as asked, closing(self._advances()) as advances:
            while self.step < self.task.steps:
                terms = next(advances)
                self.seconds = time.monotonic() - started
                self.cpu_seconds = time.process_time() - cpu_started
                self._check(terms)
                is_time = time.monotonic() - stored > CHECKPOINT_SECONDS
                if asked() or is_time or self.step == self.task.steps:
                    self._store()
                    stored = time.monotonic()
                if asked():
                    raise KeyboardInterrupt
                if progress is not None:
                    progress(self.step, self.task.steps)

    def _advances(self) -> Generator[dict[str, float], None, None]:
        """Do steps, each while the batch of the next one is read."""
        read = self.task.sampler.batch
        with ThreadPoolExecutor(1) as reader:
            following = reader.submit(read, self.step)
            while True:
                batch = following.result()
                following = reader.submit(read, self.step + 1)
                yield self.advance(batch)

    def advance(self, batch: Any) -> dict[str, float]:
        """Do one optimiser step; return the weighted terms of its loss."""
        task, config = self.task, self.task.config
        # Set from the step, not by a scheduler: nothing more to store in a checkpoint.
        for group in self._optimizer.param_groups:
            group["lr"] = config.rate_at(self.step, task.steps)
        # Mixed, not added: seed 0 at step 1 must differ from seed 1 at step 0.
        drawn = np.random.SeedSequence([config.seed, self.step]).generate_state(1)
        seed = int(drawn[0])
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)  # for dropout
            terms = task.loss_terms(batch, self.step, seed)
        total(terms).backward()
        nn.utils.clip_grad_norm_(self._parameters, _MAX_GRADIENT_NORM)
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        self.step += 1
        return {name: float(term.detach()) for name, term in terms.items()}

    def _check(self, terms: Mapping[str, float]) -> None:
        """Measure the model now and then, and at the end, and log it."""
        step, task = self.step, self.task
        if step % max(1, task.steps // task.checks) and step != task.steps:
            return
        losses = {name: round(term, 5) for name, term in terms.items()}
        entry = {"step": step, **losses, **task.measure(step, self.seconds)}
        self.log.append(entry | {"seconds": round(self.seconds, 1)})
        text = json.dumps(self.log, indent=1)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # Whole or not at all: it is read while training still runs.
        write_atomically(f"{self.path}.log.json", text.encode())

    def _key(self) -> str:
        # Sorted, since keys are compared as text.
        return json.dumps(self.task.describe(), sort_keys=True)

    def _store(self) -> None:
        checkpoint = Checkpoint(
            self._key(),
            self.step,
            self.seconds,
            self.cpu_seconds,
            self.log,
            network=self.task.network.state_dict(),
            heads=self.task.auxiliary.state_dict(),
            optimizer=self._optimizer.state_dict(),
        )
        store(self.path, checkpoint)

    def _restore(self) -> None:
        """Resume from the checkpoint beside ``path``, if there is one."""
        found = resume(self.path, self._key())
        if found is None:
            return
        self.task.network.load_state_dict(found.network)
        self.task.auxiliary.load_state_dict(found.heads)
        self._optimizer.load_state_dict(found.optimizer)
        self.step, self.log = found.step, found.log
        self.seconds, self.cpu_seconds = found.seconds, found.cpu_seconds


@contextmanager
def torch_threads(number: int) -> Iterator[None]:
    """Set the number of torch threads for a block of code."""
    before = torch.get_num_threads()
    torch.set_num_threads(number)
    try:
        yield
    finally:
        torch.set_num_threads(before)
