"""Sizes of the networks: as published, and small enough for two cores."""

from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self, get_type_hints

from metro.benchmark import benchmark_names, load_benchmark
from metro.errors import ModelError, shortened
from metro.files import has_type

FAMILIES = ("lewm", "pldm")
"""Both have the same network; they differ in the loss."""

ACTION_BLOCK = 5
"""Environment steps between two frames of a sequence, and actions in one block."""

SEQUENCE_FRAMES = 4
"""Frames of a training sequence: three of context and the one to predict."""


@dataclass(frozen=True)
class JsonSizes:
    """Sizes that are written to a model's file, and read again strictly."""

    def to_json(self) -> dict[str, Any]:
        """Return the sizes as JSON values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Self:
        """Return the sizes that `to_json` wrote."""
        names = {field.name for field in fields(cls)}
        # Strictly: a size that is ignored or left at its default is another network.
        if set(values) != names:
            wrong = sorted(set(values) ^ names)
            raise ModelError(
                f"The sizes of a network are {', '.join(sorted(names))}; "
                f"{shortened(', '.join(wrong))} should not be there or is missing."
            )
        for name, kind in get_type_hints(cls).items():
            value = values[name]
            if not has_type(tuple(value) if isinstance(value, list) else value, kind):
                raise ModelError(
                    f"The size {name} of a network cannot be {shortened(repr(value))}."
                )
        return cls(**values)


@dataclass(frozen=True)
class Sizes(JsonSizes):
    """Everything that decides the shapes of a network's tensors.

    Attributes:
        encoder: ``vit`` (the published ViT-tiny) or ``cnn``.
        image_size: Height and width of a frame, pixels.
        patch_size: Edge of a ViT patch; of ``cnn`` the first stride (2 or 4), pixels.
        widths: Channels of the convolutions; of ``vit`` its hidden size.
        latent_size: D.
        projector_size: Hidden units of both projectors.
        depth: Blocks of the predictor.
        heads: Attention heads of the predictor.
        head_size: Dimensions of one head.
        mlp_size: Hidden units of the predictor's feed-forward part.
        dropout: In the predictor, while training.
        num_frames: Frames of context that the predictor sees at most.
        action_size: Numbers in one action block, A * 5.
        smoothed_size: Width of the action embedder's first layer.
    """

    encoder: str
    image_size: int
    patch_size: int
    widths: tuple[int, ...]
    latent_size: int
    projector_size: int
    depth: int
    heads: int
    head_size: int
    mlp_size: int
    dropout: float
    num_frames: int
    action_size: int
    smoothed_size: int = 10

    def __post_init__(self) -> None:
        # JSON has lists only; a frozen value must be hashable.
        object.__setattr__(self, "widths", tuple(self.widths))
        if not 0 <= self.dropout < 1:
            raise ModelError(f"dropout must be in [0, 1), got {self.dropout}.")


PAPER = Sizes(
    encoder="vit",
    image_size=224,
    patch_size=14,
    widths=(192,),
    latent_size=192,
    projector_size=2048,
    depth=6,
    heads=16,
    head_size=64,
    mlp_size=2048,
    dropout=0.1,
    num_frames=3,
    action_size=10,
)
"""LeWM and PLDM as published: 303 tensors, 18.0 M parameters."""

_SMALL_64 = Sizes(
    encoder="cnn",
    image_size=64,
    patch_size=4,
    widths=(32, 64, 128),
    latent_size=64,
    projector_size=256,
    depth=2,
    heads=4,
    head_size=32,
    mlp_size=256,
    dropout=0.0,
    num_frames=3,
    action_size=10,
)


def small_sizes(benchmark: str) -> Sizes:
    """Return the sizes of a network that learns one benchmark on two cores."""
    return replace(_SMALL_64, **load_benchmark(benchmark).small_model)


def sizes_for(preset: str, *, benchmark: str, action_size: int) -> Sizes:
    """Return the sizes of a preset for one benchmark.

    Args:
        preset: ``paper`` or ``small``.
        benchmark: Its name; only the small preset depends on it.
        action_size: A, of one environment step.
    """
    if preset == "paper":
        return replace(PAPER, action_size=action_size * ACTION_BLOCK)
    if preset != "small":
        raise ModelError(f"preset must be paper or small, got {preset!r}.")
    if benchmark not in benchmark_names():
        raise ModelError(
            f"There is no small preset for {benchmark!r}; "
            f"choose among {', '.join(benchmark_names())}, or give sizes of your own."
        )
    return replace(small_sizes(benchmark), action_size=action_size * ACTION_BLOCK)
