"""How a model is trained: everything that decides the resulting weights."""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from metro.errors import ModelError
from metro.models.presets import FAMILIES, SEQUENCE_FRAMES

AUXILIARY = ("none", "warmup", "throughout")
TRAINED = ("all", "predictor")

SMALL_RATE = 1e-3
"""Learning rate of small macro models: 20 times the published one, for few steps."""


@dataclass(frozen=True, kw_only=True)
class OptimiserConfig:
    """Settings that world models and macro models share.

    Attributes:
        batch_size: Sequences per step.
        learning_rate: Peak learning rate, reached after the warm-up.
        weight_decay: AdamW's weight decay, for all parameters.
        warmup: Share of the steps in which the rate rises from 0.
        held_out: Share of the episodes that are never trained on.
        split: What is held out: ``episodes``, or single sequences as published.
        seed: Random seed for weights, batches and projections.
        threads: Number of torch threads; another number rounds differently.
    """

    batch_size: int = 128
    learning_rate: float
    weight_decay: float = 1e-3
    warmup: float = 0.01
    held_out: float = 0.1
    split: str = "episodes"
    seed: int = 0
    threads: int = 1

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return asdict(self)

    def rate_at(self, step: int, steps: int) -> float:
        """Return the learning rate of a step: linear warm-up, then cosine to 0."""
        rising = max(1, round(self.warmup * steps))
        if step < rising:
            # From step 1 on: at rate 0 the first step would do nothing.
            return self.learning_rate * (step + 1) / rising
        share = (step - rising) / max(1, steps - rising)
        return self.learning_rate * 0.5 * (1 + math.cos(math.pi * share))

    def require_one_of(self, **valid: tuple[str, ...]) -> None:
        """Raise `ModelError` unless each named setting is one of those values."""
        for name, values in valid.items():
            if getattr(self, name) not in values:
                raise ModelError(
                    f"{name} must be one of {', '.join(values)}, "
                    f"got {getattr(self, name)!r}."
                )

    def require_positive(self, *names: str) -> None:
        """Raise `ModelError` unless each named setting is at least 1."""
        for name in names:
            if getattr(self, name) < 1:
                raise ModelError(
                    f"{name} must be at least 1, got {getattr(self, name)}."
                )


@dataclass(frozen=True, kw_only=True)
class TrainConfig(OptimiserConfig):
    """Settings for training one world model; the defaults suit the small preset.

    Decision: D15.

    Attributes:
        family: ``lewm`` or ``pldm``: which loss.
        steps: Optimiser steps.
        num_directions: Random projections of SIGReg.
        train_only: What is trained: ``all``, or the ``predictor`` alone (with the
            action embedder) on a frozen encoder, by the prediction loss.
        rollout_blocks: For the predictor alone: blocks that it predicts one from the
            other, as planning does; 0: each from recorded frames, as published.
        state_head: Auxiliary regression of the recorded state from z: ``none``,
            ``warmup`` (the first `head_share` of the steps) or ``throughout``.
        pixel_head: Auxiliary drawing of a thumbnail from z, with the same values.
        head_weight: Weight of each auxiliary loss.
        head_share: Share of the steps that ``warmup`` means.
        device: Torch device.
    """

    family: str = "lewm"
    steps: int = 2000
    learning_rate: float = 2e-3
    num_directions: int = 256
    train_only: str = "all"
    rollout_blocks: int = 0
    state_head: str = "none"
    pixel_head: str = "none"
    head_weight: float = 1.0
    head_share: float = 0.3
    device: str = "cpu"

    def __post_init__(self) -> None:
        self.require_one_of(
            family=FAMILIES,
            train_only=TRAINED,
            split=("episodes", "clips"),
            state_head=AUXILIARY,
            pixel_head=AUXILIARY,
        )
        if self.rollout_blocks and self.train_only != "predictor":
            raise ModelError(
                f"rollout_blocks belongs to train_only='predictor', got "
                f"{self.rollout_blocks} for train_only={self.train_only!r}."
            )
        self.require_positive("steps", "batch_size", "num_directions", "threads")

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON values, as files have them since version 0.1."""
        values = super().to_json()
        # Models and checkpoints on disk have the old name.
        values["part"] = values.pop("train_only")
        return values

    @property
    def sequence_frames(self) -> int:
        """T, frames of a training sequence: 4 as published, more for rollouts."""
        return self.rollout_blocks + 1 if self.rollout_blocks else SEQUENCE_FRAMES

    def auxiliary_weights_at(self, step: int) -> dict[str, float]:
        """Return the weights of the auxiliary losses of a step, without those at 0."""
        modes = {"state": self.state_head, "pixels": self.pixel_head}
        warm = step < self.head_share * self.steps
        return {
            name: self.head_weight
            for name, mode in modes.items()
            if mode == "throughout" or (mode == "warmup" and warm)
        }


def paper_config(family: str, *, steps: int) -> TrainConfig:
    """Return the published settings; ``steps`` is 10 epochs of the corpus there."""
    return replace(
        TrainConfig(family=family, steps=steps),
        learning_rate=5e-5,
        num_directions=1024,
        split="clips",
        seed=3072,
    )


def model_name(benchmark: str | None, preset: str, config: TrainConfig) -> str:
    """Return a name made of family, preset, auxiliary losses and benchmark."""
    parts = [config.family, preset]
    for name, mode in (("state", config.state_head), ("pixels", config.pixel_head)):
        if mode != "none":
            parts.append(f"{name}-warmup" if mode == "warmup" else name)
    return "-".join([*parts, benchmark or "own"])


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
