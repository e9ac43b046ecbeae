"""Sizes of macro models: as published, and small enough for two cores."""

from dataclasses import dataclass, replace
from typing import Any

from metro.errors import ModelError
from metro.models.presets import PAPER, JsonSizes, Sizes

NUM_WAYPOINTS = 5
"""Waypoints of a training window; the macro predictor sees all but the last."""

MAX_BLOCKS = 15
"""Action blocks of the longest macro action, and of a window's longest span."""

CHUNK_BLOCKS = 5
"""Action blocks of a macro action while planning: 25 frames."""

_LATENT = ("latent_size", "projector_size")
_PREDICTOR = ("depth", "heads", "head_size", "mlp_size", "dropout")
"""Sizes that a world model and a macro model on top of it may share."""


@dataclass(frozen=True)
class MacroSizes(JsonSizes):
    """Everything that decides the shapes of a macro network's tensors.

    Attributes:
        latent_size: D, of the frozen world model.
        projector_size: Hidden units of its projectors.
        action_size: Numbers in one action block, A * 5.
        macro_size: Numbers in a latent macro action.
        encoder_width: Width of the macro-action encoder's tokens.
        encoder_depth: Its layers.
        encoder_heads: Its attention heads.
        encoder_mlp: Hidden units of its feed-forward part.
        depth: Blocks of the macro predictor.
        heads: Its attention heads.
        head_size: Dimensions of one head.
        mlp_size: Hidden units of its feed-forward part.
        dropout: In both, while training.
    """

    latent_size: int = 192
    projector_size: int = 2048
    action_size: int = 10
    macro_size: int = 32
    encoder_width: int = 192
    encoder_depth: int = 2
    encoder_heads: int = 4
    encoder_mlp: int = 768
    depth: int = 6
    heads: int = 16
    head_size: int = 64
    mlp_size: int = 2048
    dropout: float = 0.1

    @property
    def predictor(self) -> Sizes:
        """The sizes of the macro predictor, as the micro predictor's class has them."""
        # PAPER fills in what a predictor never reads, such as the image size.
        own = _values(self, *_LATENT, *_PREDICTOR)
        return replace(PAPER, num_frames=NUM_WAYPOINTS - 1, **own)


PUBLISHED = MacroSizes()
"""As released: 122 tensors, 12.5 M parameters, beside the 303 of the frozen LeWM."""


def macro_sizes_for(preset: str, low: Sizes) -> MacroSizes:
    """Return the sizes of a preset on top of a frozen world model's.

    Args:
        preset: ``paper``, or ``small``: its predictor is as large as the world model's.
        low: Sizes of the world model.
    """
    if preset not in ("paper", "small"):
        raise ModelError(f"preset must be paper or small, got {preset!r}.")
    sizes = replace(PUBLISHED, **_values(low, *_LATENT, "action_size"))
    if preset == "paper":
        return sizes
    as_low = _values(low, *_PREDICTOR)
    return replace(sizes, encoder_width=64, encoder_mlp=256, **as_low)


def _values(sizes: JsonSizes, *names: str) -> dict[str, Any]:
    return {name: getattr(sizes, name) for name in names}
