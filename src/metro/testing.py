"""Contract checks for what users bring: run them in the tests of your own project."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.errors import ModelError
from metro.types import WorldModel

_MEMBERS = {
    "encode": "encode(frames): uint8 [N, S, S, 3] -> float32 [N, D]",
    "rollout": "rollout(z, actions): [B, D], [B, T, action_block * A] -> [B, T, D]",
    "action_size": "action_size: A, numbers in the action of one environment step",
    "action_block": "action_block: environment steps of one predicted step",
}

_BLOCKS = 3
_TOLERANCE = 1e-4


def check_world_model(
    model: WorldModel, frames: NDArray[np.uint8] | None = None
) -> None:
    """Raise one `ModelError` that lists all that keeps ``model`` from planning.

    Checked are its members, the shapes and numbers that ``encode`` and ``rollout``
    return, that the same input gives the same output, that a row does not depend on
    the rows beside it, and that a shorter rollout is the beginning of a longer one.

    Args:
        model: Any object; see `metro.types.WorldModel`.
        frames: ``[N, S, S, 3]`` uint8, at least 2, as the model takes them. None:
            random ones, of the model's ``image_size`` (64 pixels if it has none).
    """
    wrong = [
        f"no {what}" for name, what in _MEMBERS.items() if not hasattr(model, name)
    ]
    if not wrong:
        wrong = list(_problems(model, _frames_for(model, frames)))
    if wrong:
        listed = "\n".join(f"- {line}" for line in wrong)
        raise ModelError(f"{type(model).__name__} is no world model yet:\n{listed}")


def _frames_for(
    model: WorldModel, frames: NDArray[np.uint8] | None
) -> NDArray[np.uint8]:
    if frames is not None:
        return frames
    size = getattr(model, "image_size", None) or 64
    rng = np.random.default_rng(0)
    return rng.integers(0, 256, (3, size, size, 3), dtype=np.uint8)


def _problems(model: WorldModel, frames: NDArray[np.uint8]) -> Iterator[str]:
    """Yield what is wrong, in plain words; rollouts need sound latents."""
    from metro.models.adapter import as_world_model

    for name in ("action_size", "action_block"):
        value = getattr(model, name)
        if not isinstance(value, int | np.integer) or value < 1:
            yield f"{name} must be a whole number of at least 1, got {value!r}"
            return
    plannable = as_world_model(model)
    found = list(_encode_problems(plannable, frames))
    yield from found
    if not found:
        yield from _rollout_problems(plannable, plannable.encode(frames))


def _encode_problems(model: Any, frames: NDArray[np.uint8]) -> Iterator[str]:
    try:
        z, again, alone = (model.encode(part) for part in (frames, frames, frames[:1]))
    except Exception as error:  # whatever a stranger's code raises is the finding
        yield f"encode raises {type(error).__name__}: {error}"
        return
    size = model.latent_size or z.shape[-1]
    if z.ndim != 2 or z.shape != (len(frames), size):
        yield f"encode must return [{len(frames)}, {size}], got {list(z.shape)}"
        return
    yield from _number_problems("encode", z, again)
    if not _close(z[:1], alone):
        yield "encode gives a frame another latent when it is encoded alone"


def _rollout_problems(model: Any, z: NDArray[np.float32]) -> Iterator[str]:
    rng = np.random.default_rng(1)
    width = model.action_block * model.action_size
    actions = rng.normal(size=(len(z), _BLOCKS, width)).astype(np.float32)
    calls: list[Callable[[], Any]] = [
        lambda: model.rollout(z, actions),
        lambda: model.rollout(z, actions),
        lambda: model.rollout(z[:1], actions[:1]),
        lambda: model.rollout(z, actions[:, :1]),
    ]
    try:
        whole, again, alone, short = (call() for call in calls)
    except Exception as error:  # whatever a stranger's code raises is the finding
        yield f"rollout raises {type(error).__name__}: {error}"
        return
    expected = (*actions.shape[:2], z.shape[1])
    if whole.shape != expected:
        yield f"rollout must return {list(expected)}, got {list(whole.shape)}"
        return
    yield from _number_problems("rollout", whole, again)
    if not _close(whole[:1], alone):
        yield "rollout gives a row other latents when it is rolled out alone"
    if not _close(whole[:, :1], short):
        yield "rollout of 1 block is not the beginning of a rollout of 3"


def _number_problems(
    method: str, values: NDArray[np.float32], again: NDArray[np.float32]
) -> Iterator[str]:
    if not np.isfinite(values).all():
        yield f"{method} returns numbers that are not finite"
    elif not np.array_equal(values, again):
        yield (
            f"{method} returns other numbers for the same input; a torch module must "
            f"be in evaluation mode"
        )


def _close(one: NDArray[np.float32], other: NDArray[np.float32]) -> bool:
    """Return whether two results agree up to the rounding of batched products."""
    if one.shape != other.shape:
        return False
    scale = max(1.0, float(np.abs(one).max(initial=0.0)))
    return bool(np.abs(one - other).max(initial=0.0) <= _TOLERANCE * scale)
