"""Any world model as planners use it: torch in and out, every attribute present."""

import importlib
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from metro.errors import ModelError
from metro.models.action_stats import ActionStats
from metro.models.frozen import FrozenModel
from metro.types import WorldModel

_REQUIRED = ("encode", "rollout", "action_size", "action_block")


class PlannableModel:
    """A world model of the user's own, with all that planning and evaluation read.

    A model that is a torch module is given tensors on its device, any other NumPy
    arrays; it may return either. The wrapped model is never changed.

    Attributes:
        model: The wrapped object.
        action_size: A, numbers in the action of one environment step.
        action_block: Environment steps of one predicted step.
        name: The model's ``name``, or that of its class.
        family: ``own``, unless the model says otherwise.
        benchmark: What it was trained on; None: unknown.
        image_size: S, pixels; None: any.
        latent_size: D; None: unknown before the first latent.
        rendering: How its frames must be drawn; None: as the corpus was.
        digest: A text that changes with the weights; None: unknown.
        action_stats: How its actions are normalised; None: as the corpus says.
        notes: What its rows and cards say beside; empty if it has none.
    """

    def __init__(self, model: WorldModel) -> None:
        self.model = model
        self.action_size: int = model.action_size
        self.action_block: int = model.action_block
        self.name = str(getattr(model, "name", type(model).__name__))
        self.family: str = getattr(model, "family", "own")
        self.benchmark: str | None = getattr(model, "benchmark", None)
        self.image_size: int | None = getattr(model, "image_size", None)
        self.latent_size: int | None = getattr(model, "latent_size", None)
        self.rendering: str | None = getattr(model, "rendering", None)
        self.digest: str | None = getattr(model, "digest", None)
        self.action_stats: ActionStats | None = getattr(model, "action_stats", None)
        self.notes: Mapping[str, Any] = dict(getattr(model, "notes", None) or {})

    def __repr__(self) -> str:
        return f"PlannableModel({self.model!r})"

    @property
    def device(self) -> torch.device:
        """Where a torch module's weights are; the processor for all others."""
        weights = self.model.parameters() if isinstance(self.model, nn.Module) else ()
        return next((weight.device for weight in weights), torch.device("cpu"))

    def to(self, device: str | torch.device) -> "PlannableModel":
        """Move a torch module to a device; other models choose theirs themselves."""
        if isinstance(self.model, nn.Module):
            self.model.to(device)
        return self

    @torch.no_grad()
    def encode(self, frames: Any) -> Any:
        """Return ``[N, D]`` float32 latents of frames ``[N, S, S, 3]`` uint8."""
        return _like(frames, self.model.encode(self._given(frames)))

    @torch.no_grad()
    def rollout(self, z: Any, actions: Any) -> Any:
        """Return ``[B, T, D]``, the latents after each of T action blocks.

        Args:
            z: ``[B, D]`` present latents.
            actions: ``[B, T, action_block * A]`` normalised actions, in time order.
        """
        predicted = self.model.rollout(self._given(z), self._given(actions))
        return _like(z, predicted)

    def _given(self, array: Any) -> Any:
        """Return an array as the wrapped model takes it."""
        if not isinstance(self.model, nn.Module):
            return _as_numpy(array)
        # Copied: torch warns about arrays that it must not write to.
        given = array if isinstance(array, Tensor) else torch.from_numpy(array.copy())
        return given.to(self.device)


def as_world_model(model: Any) -> FrozenModel | PlannableModel:
    """Return a model that all planners take; one of metro's own comes back unchanged.

    Args:
        model: Any object with ``encode``, ``rollout``, ``action_size`` and
            ``action_block`` (`metro.types.WorldModel`).
    """
    if isinstance(model, FrozenModel | PlannableModel):
        return model
    missing = [name for name in _REQUIRED if not hasattr(model, name)]
    if missing:
        raise ModelError(
            f"{type(model).__name__} is not a world model: it has no "
            f"{', '.join(missing)}. See docs/tutorials/your-model.md."
        )
    return PlannableModel(model)


def require_frozen(model: Any, what: str) -> FrozenModel:
    """Return a LeWM or PLDM as it is; raise for a model of others.

    The message says ``what`` needs more than the two methods.
    """
    if not isinstance(model, FrozenModel):
        raise ModelError(
            f"{what} needs the network of a LeWM or PLDM, got a model of "
            f"{type(getattr(model, 'model', model)).__name__}. Plan with metro or flat."
        )
    return model


def import_model(source: str) -> FrozenModel | PlannableModel:
    """Return what ``package.module:factory`` makes: a function or class to call.

    Args:
        source: Such as ``my_project.models:load``; called without arguments.
    """
    place, _, factory = source.partition(":")
    try:
        make = getattr(importlib.import_module(place), factory)
    except (ImportError, AttributeError) as error:
        raise ModelError(
            f"There is no model {source!r}: {error}. Give package.module:factory, "
            f"with the package installed or on PYTHONPATH."
        ) from error
    # Not in the try: an ImportError inside the factory is not a wrong name.
    return as_world_model(make())


def known_digest(model: FrozenModel | PlannableModel) -> str | None:
    """Return the digest of a model; warn if it has none.

    Without one, latents of another model are not noticed.
    """
    if model.digest is None:
        warnings.warn(
            f"{model.name} has no digest, so that nobody can check that the latents "
            f"are its own. Give it a digest: a text that changes with the weights.",
            stacklevel=3,
        )
    return model.digest


def _as_numpy(array: Any) -> np.ndarray[Any, Any]:
    return array.detach().cpu().numpy() if isinstance(array, Tensor) else array


def _like(given: Any, result: Any) -> Any:
    """Return a result as float32, in torch if ``given`` was, else in NumPy."""
    values = np.asarray(_as_numpy(result))
    if values.dtype.kind != "f":
        # Whole numbers are pixels or labels by mistake, never latents.
        raise ModelError(f"a world model returns float32, got {values.dtype}")
    values = values.astype(np.float32, copy=False)
    return torch.from_numpy(values) if isinstance(given, Tensor) else values
