"""Mean and standard deviation of raw actions: between an environment and a model."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from metro.errors import ModelError
from metro.types import CorpusLike

_SMALLEST_STD = 1e-8


@dataclass(frozen=True, eq=False)
class ActionStats:
    """How raw actions are z-scored before a world model sees them.

    Attributes:
        mean: ``[A]`` float32.
        std: ``[A]`` float32, population standard deviation.
    """

    mean: NDArray[np.float32]
    std: NDArray[np.float32]

    def __post_init__(self) -> None:
        for name in ("mean", "std"):
            values = np.asarray(getattr(self, name), dtype=np.float32)
            object.__setattr__(self, name, values)
        if self.mean.ndim != 1 or self.mean.shape != self.std.shape:
            raise ModelError(
                f"mean and std must both have shape [A], got {list(self.mean.shape)} "
                f"and {list(self.std.shape)}."
            )
        if not np.isfinite([self.mean, self.std]).all() or (self.std <= 0).any():
            raise ModelError("mean and std must be finite, and std above 0.")

    @classmethod
    def of(cls, actions: ArrayLike) -> "ActionStats":
        """Return the statistics of raw actions ``[N, A]``; rows with NaN are ignored.

        Episodes end with NaN actions: nothing was done at their last frame.
        """
        # Sums in float64: in float32 the mean of millions of rows loses digits.
        values = np.asarray(actions, dtype=np.float64)
        kept = values[~np.isnan(values).any(axis=1)]
        if len(kept) == 0:
            raise ModelError("Every action is NaN; at least one row must not be.")
        std = kept.std(axis=0)
        std[std < _SMALLEST_STD] = 1.0  # a constant becomes 0, not NaN
        return cls(kept.mean(axis=0).astype(np.float32), std.astype(np.float32))

    @property
    def action_size(self) -> int:
        """A, numbers in one action."""
        return len(self.mean)

    def normalise(self, actions: ArrayLike) -> NDArray[np.float32]:
        """Return raw actions ``[..., A]`` as a model takes them; NaN becomes 0."""
        scaled = (np.asarray(actions, dtype=np.float32) - self.mean) / self.std
        # After scaling: a missing action becomes the mean one, not a raw 0.
        return np.nan_to_num(scaled, nan=0.0)

    def denormalise(self, actions: ArrayLike) -> NDArray[np.float32]:
        """Return the raw actions ``[..., A]`` of normalised ones."""
        return np.asarray(actions, dtype=np.float32) * self.std + self.mean


def stats_for(model: Any, corpus: CorpusLike) -> ActionStats:
    """Return the action statistics of a model, or of the corpus if it has none.

    Released models have none; the published code takes them from the corpus too. The
    model is never changed: with another corpus it plans with that corpus' statistics.

    Args:
        model: Any world model; its ``action_stats`` may be None or absent.
        corpus: The recording whose actions are read if needed.
    """
    known: ActionStats | None = getattr(model, "action_stats", None)
    return ActionStats.of(raw_actions(corpus)) if known is None else known


def require_stats(model: Any, given: ActionStats | None = None) -> ActionStats:
    """Return ``given``, else the statistics of the model; raise if there are none."""
    known: ActionStats | None = getattr(model, "action_stats", None)
    stats = known if given is None else given
    if stats is None:
        raise ModelError(
            f"{getattr(model, 'name', 'The model')} does not know how its actions were "
            f"normalised. Take them from the corpus: "
            f"action_stats=ActionStats.of(corpus.column('action'))."
        )
    if stats.action_size != model.action_size:
        raise ModelError(
            f"The model takes actions of {model.action_size} numbers; their mean and "
            f"std have {stats.action_size}. They are of another environment."
        )
    return stats


def raw_actions(corpus: CorpusLike) -> NDArray[np.float32]:
    """Return the recorded actions ``[N, A]``, NaN where there is none."""
    actions = np.asarray(corpus.column("action"), dtype=np.float32)
    # A corpus may store actions of one number without an axis.
    return actions.reshape(len(actions), -1)
