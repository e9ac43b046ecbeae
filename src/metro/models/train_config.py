"""How a model is trained: everything that decides the resulting weights."""

import math
from dataclasses import asdict, dataclass, replace
from typing import Any

from metro.errors import ModelError
from metro.models.presets import FAMILIES
from metro.models.sequences import CLIP_FRAMES

HEADS = ("none", "warmup", "throughout")
PARTS = ("all", "predictor")


@dataclass(frozen=True)
class TrainConfig:
    """Settings of one training run; the defaults suit the small preset.

    Decision: D15.

    Attributes:
        family: ``lewm`` or ``pldm``: which loss.
        steps: Optimiser steps.
        batch_size: Clips in a step.
        learning_rate: Its peak, after the warm-up.
        weight_decay: Of all parameters.
        warmup: Share of the steps in which the rate rises from 0.
        num_directions: Random projections of SIGReg.
        held_out: Share of the episodes that are never trained on.
        part: What is trained: ``all``, or the ``predictor`` alone (with the action
            embedder) on a frozen encoder, by the prediction loss.
        rollout_blocks: For the predictor alone: blocks that it predicts one from the
            other, as planning does; 0: each from recorded frames, as published.
        split: What is held out: ``episodes``, or ``clips`` as published.
        state_head: Auxiliary regression of the recorded state from z: ``none``,
            ``warmup`` (the first `head_share` of the steps) or ``throughout``.
        pixel_head: Auxiliary drawing of a thumbnail from z, likewise.
        head_weight: Of each auxiliary loss.
        head_share: See ``state_head``.
        seed: Of weights, clips and projections.
        threads: Of torch; another number rounds differently.
        device: As torch names it.
    """

    family: str = "lewm"
    steps: int = 2000
    batch_size: int = 128
    learning_rate: float = 2e-3
    weight_decay: float = 1e-3
    warmup: float = 0.01
    num_directions: int = 256
    held_out: float = 0.1
    part: str = "all"
    rollout_blocks: int = 0
    split: str = "episodes"
    state_head: str = "none"
    pixel_head: str = "none"
    head_weight: float = 1.0
    head_share: float = 0.3
    seed: int = 0
    threads: int = 1
    device: str = "cpu"

    def __post_init__(self) -> None:
        for name, valid in (
            ("family", FAMILIES),
            ("part", PARTS),
            ("split", ("episodes", "clips")),
            ("state_head", HEADS),
            ("pixel_head", HEADS),
        ):
            if getattr(self, name) not in valid:
                raise ModelError(
                    f"{name} must be one of {', '.join(valid)}, "
                    f"got {getattr(self, name)!r}."
                )
        if self.rollout_blocks and self.part != "predictor":
            raise ModelError(
                f"rollout_blocks belongs to part='predictor', got "
                f"{self.rollout_blocks} for part={self.part!r}."
            )
        for name in ("steps", "batch_size", "num_directions", "threads"):
            if getattr(self, name) < 1:
                raise ModelError(
                    f"{name} must be at least 1, got {getattr(self, name)}."
                )

    def to_json(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        return asdict(self)

    @property
    def clip_frames(self) -> int:
        """T, frames of a clip: 4 as published, more for rollouts."""
        return self.rollout_blocks + 1 if self.rollout_blocks else CLIP_FRAMES

    def rate_at(self, step: int) -> float:
        """Return the learning rate of a step: linear warm-up, then cosine to 0."""
        return warm_cosine(step, self.steps, self.learning_rate, self.warmup)

    def head_weights_at(self, step: int) -> dict[str, float]:
        """Return the weights of the auxiliary losses of a step, without those at 0."""
        modes = {"state": self.state_head, "pixels": self.pixel_head}
        warm = step < self.head_share * self.steps
        return {
            name: self.head_weight
            for name, mode in modes.items()
            if mode == "throughout" or (mode == "warmup" and warm)
        }


def warm_cosine(step: int, steps: int, peak: float, warmup: float) -> float:
    """Return the rate of a step: linear to its peak, then cosine to 0."""
    rising = max(1, round(warmup * steps))
    if step < rising:
        return peak * (step + 1) / rising
    share = (step - rising) / max(1, steps - rising)
    return peak * 0.5 * (1 + math.cos(math.pi * share))


def paper_config(family: str, *, steps: int) -> TrainConfig:
    """Return the published settings; ``steps`` is 10 epochs of the corpus there."""
    return replace(
        TrainConfig(family=family, steps=steps),
        learning_rate=5e-5,
        num_directions=1024,
        split="clips",
        seed=3072,
    )


def model_name(benchmark: str | None, preset: str, recipe: TrainConfig) -> str:
    """Return a name that tells the family, preset, auxiliary heads and benchmark."""
    parts = [recipe.family, preset]
    for name, mode in (("state", recipe.state_head), ("pixels", recipe.pixel_head)):
        if mode != "none":
            parts.append(f"{name}-warmup" if mode == "warmup" else name)
    return "-".join([*parts, benchmark or "own"])
