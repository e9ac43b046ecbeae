"""How a macro model is trained: everything that decides the resulting weights."""

from dataclasses import dataclass
from typing import Any

from metro.errors import ModelError
from metro.models.train_config import OptimiserConfig

SMALL_RATE = 1e-3
"""Learning rate of the small preset: 20 times the published one, for few steps."""


@dataclass(frozen=True, kw_only=True)
class MacroTrainConfig(OptimiserConfig):
    """Settings for training one macro model; the defaults suit the small preset.

    Decision: D20.

    Attributes:
        epochs: How often every window is visited.
    """

    epochs: int = 15
    learning_rate: float = SMALL_RATE

    def __post_init__(self) -> None:
        self.require_positive("epochs", "batch_size", "threads")
        self.require_one_of(split=("episodes", "windows"))


def macro_config_for(preset: str, **changes: Any) -> MacroTrainConfig:
    """Return the settings of a preset; ``paper`` has the published ones."""
    if preset not in ("paper", "small"):
        raise ModelError(f"preset must be paper or small, got {preset!r}.")
    # Such windows overlap those held out; kept to compare with published numbers.
    published = {"learning_rate": 5e-5, "split": "windows", "seed": 3072}
    return MacroTrainConfig(**{**(published if preset == "paper" else {}), **changes})
