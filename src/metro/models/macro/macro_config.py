"""How a macro model is trained: everything that decides the resulting weights."""

from dataclasses import asdict, dataclass
from typing import Any

from metro.errors import ModelError
from metro.models.train_config import warm_cosine

SPLITS = ("episodes", "windows")

SMALL_RATE = 1e-3
"""Learning rate of the small preset: 20 times the published one, for few steps."""


@dataclass(frozen=True)
class MacroTrainConfig:
    """Settings of one training run; the defaults suit the small preset.

    Decision: D20.

    Attributes:
        epochs: How often every window is visited.
        batch_size: Windows in a step.
        learning_rate: Its peak, after the warm-up.
        weight_decay: Of all parameters.
        warmup: Share of the steps in which the rate rises from 0.
        held_out: Share of the episodes that are judged on.
        split: What is held out: ``episodes``, or ``windows`` as published.
        seed: Of weights, windows and waypoints.
        threads: Of torch; another number rounds differently.
    """

    epochs: int = 15
    batch_size: int = 128
    learning_rate: float = SMALL_RATE
    weight_decay: float = 1e-3
    warmup: float = 0.01
    held_out: float = 0.1
    split: str = "episodes"
    seed: int = 0
    threads: int = 1

    def __post_init__(self) -> None:
        for name in ("epochs", "batch_size", "threads"):
            if getattr(self, name) < 1:
                raise ModelError(
                    f"{name} must be at least 1, got {getattr(self, name)}."
                )
        if self.split not in SPLITS:
            raise ModelError(
                f"split must be one of {', '.join(SPLITS)}, got {self.split!r}."
            )

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return asdict(self)

    def rate_at(self, step: int, steps: int) -> float:
        """Return the learning rate of a step: linear warm-up, then cosine to 0."""
        return warm_cosine(step, steps, self.learning_rate, self.warmup)


def recipe_for(preset: str, **changes: Any) -> MacroTrainConfig:
    """Return the recipe of a preset; ``paper`` has the published settings."""
    if preset not in ("paper", "small"):
        raise ModelError(f"preset must be paper or small, got {preset!r}.")
    published = {"learning_rate": 5e-5, "split": "windows", "seed": 3072}
    return MacroTrainConfig(**{**(published if preset == "paper" else {}), **changes})
