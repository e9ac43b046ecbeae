"""What the one training loop needs of a kind of model: data, loss and measures."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from torch import Tensor, nn

from metro.models.train_config import OptimiserConfig

Model = TypeVar("Model")


class Sampler(Protocol):
    """Batches that depend on the step alone."""

    def batch(self, step: int) -> Any:
        """Return the batch of one optimiser step."""
        ...


class TrainingTask(ABC, Generic[Model]):
    """What is trained, on what, and by which loss.

    Attributes:
        config: Optimiser settings, random seed and torch threads.
        steps: Optimiser steps of the whole run.
        checks: How often in a run the model is measured.
        sampler: Where batches come from.
        network: What is trained, in training mode.
        auxiliary: Modules that only the loss uses, trained beside it.
    """

    config: OptimiserConfig
    steps: int
    checks: int
    sampler: Sampler
    network: nn.Module
    auxiliary: nn.ModuleDict

    @abstractmethod
    def loss_terms(self, batch: Any, step: int, seed: int) -> dict[str, Tensor]:
        """Return the weighted terms of the loss, by name.

        Args:
            batch: What the sampler returned for this step.
            step: Optimiser steps done before.
            seed: Random seed for all that this step draws.
        """

    @abstractmethod
    def freeze(self, num_batches: int) -> Model:
        """Return the model as it is now, independent of further steps.

        Args:
            num_batches: Batches that set its batch norms.
        """

    @abstractmethod
    def measure(self, step: int, seconds: float) -> dict[str, Any]:
        """Return what the log says of the model as it is now."""

    @abstractmethod
    def describe(self) -> dict[str, Any]:
        """Return all that the resulting weights depend on, as JSON values."""

    @abstractmethod
    def save(self, model: Model, path: Path) -> None:
        """Write the finished model to its file."""
