"""Contract checks for what users bring: run them in the tests of your own project."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.errors import ModelError, WorldError
from metro.planners.contract import check_micro_planner
from metro.types import Env, WorldModel

__all__ = ["check_env", "check_micro_planner", "check_world_model"]

_MEMBERS = {
    "encode": "encode(frames): uint8 [N, S, S, 3] -> float32 [N, D]",
    "rollout": "rollout(z, actions): [B, D], [B, T, action_block * A] -> [B, T, D]",
    "action_size": "action_size: A, numbers in the action of one environment step",
    "action_block": "action_block: environment steps of one predicted step",
}

_BLOCKS = 3
# Batched products sum in another order; float32 models differ by less.
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


_ENV_MEMBERS = {
    "action_size": "action_size: A, numbers in the action of one step",
    "reset": "reset(seed): start from a random state that the seed alone decides",
    "set_state": "set_state(row): put the simulator into a recorded state",
    "set_goal": "set_goal(row): make the state in row the goal",
    "step": "step(action): bool, whether the goal is met after one step",
    "is_solved": "is_solved(): bool, whether the goal is met now",
    "get_state": "get_state(): the columns of this moment as a dict of arrays",
    "render": "render(): the picture of this moment, uint8 [S, S, 3]",
    "render_state": "render_state(row): the picture of a state, uint8 [S, S, 3]",
    "close": "close(): give the simulator back",
}

_SEEDS = (0, 1, 2)
_GREY_LEVELS = 2.0
"""Mean difference of two pictures that show the same state. It is not 0: simulators
may make a small physics step when a state is set."""


def check_env(env: Env, actions: NDArray[Any] | None = None) -> None:
    """Raise one `WorldError` that lists all that keeps ``env`` from being planned in.

    Checked are its members, that a seed and actions alone decide what happens, that
    pictures and states belong to the caller, that a recorded state can be set again,
    and that a state solves the goal that is made of it. The environment stays open.

    Args:
        env: Any object; see `metro.types.Env`.
        actions: ``[T, A]`` actions to step with; None draws 4 uniformly in [-1, 1].
    """
    wrong = [
        f"no {what}" for name, what in _ENV_MEMBERS.items() if not hasattr(env, name)
    ]
    if not wrong:
        try:
            wrong = list(_env_problems(env, actions))
        except Exception as error:  # whatever a stranger's code raises is the finding
            wrong = [f"it raises {type(error).__name__}: {error}"]
    if wrong:
        listed = "\n".join(f"- {line}" for line in wrong)
        raise WorldError(f"{type(env).__name__} is no environment yet:\n{listed}")


def _env_problems(env: Env, actions: NDArray[Any] | None) -> Iterator[str]:
    size = env.action_size
    if not isinstance(size, int | np.integer) or size < 1:
        yield f"action_size must be a whole number of at least 1, got {size!r}"
        return
    if actions is None:
        actions = np.random.default_rng(0).uniform(-1, 1, (4, size))
    env.reset(_SEEDS[0])
    picture = env.render()
    if not _is_picture(picture):
        yield f"render must return uint8 [S, S, 3], got {_describe(picture)}"
        return
    yield from _seed_problems(env, actions)
    yield from _ownership_problems(env)
    yield from _state_problems(env, actions)


def _seed_problems(env: Env, actions: NDArray[Any]) -> Iterator[str]:
    # Another seed in between, so that what an episode leaves behind shows.
    first, other, again = (_drive(env, seed, actions) for seed in (0, 1, 0))
    if not all(map(np.array_equal, first, again)):
        yield (
            "reset with the same seed and the same actions gives other pictures; "
            "something of the episode before is left"
        )
    if np.array_equal(first[0], other[0]) and np.array_equal(first[-1], other[-1]):
        yield "reset gives the same picture for different seeds"


def _drive(env: Env, seed: int, actions: NDArray[Any]) -> list[NDArray[np.uint8]]:
    """Return the pictures of an episode, before the first action and after each."""
    env.reset(seed)
    pictures = [env.render().copy()]
    for action in actions:
        env.step(action)
        pictures.append(env.render().copy())
    return pictures


def _ownership_problems(env: Env) -> Iterator[str]:
    env.reset(_SEEDS[0])
    picture, state = env.render(), env.get_state()
    expected = picture.copy(), {name: np.copy(value) for name, value in state.items()}
    picture[:] = 0
    for value in state.values():
        value[...] = 0
    if not np.array_equal(env.render(), expected[0]):
        yield "render returns an array that it uses itself; return a copy"
    now = env.get_state()
    if not all(np.array_equal(now[name], value) for name, value in expected[1].items()):
        yield "get_state returns arrays that the simulator uses itself; return copies"


def _state_problems(env: Env, actions: NDArray[Any]) -> Iterator[str]:
    env.reset(_SEEDS[0])
    row, picture = env.get_state(), env.render()
    env.set_goal(row)
    solved = env.is_solved()
    if not isinstance(solved, bool | np.bool_):
        yield f"is_solved must return a bool, got {solved!r}"
    elif not solved:
        yield "is_solved must be true in the state that is the goal"
    met = [env.step(action) for action in actions][-1]
    if not isinstance(met, bool | np.bool_):
        yield f"step must return a bool, got {met!r}"
    env.set_state(row)
    if not _look_alike(env.render(), picture):
        yield "set_state with the row of get_state shows another picture"
    # Away from there first, or a render that ignores the row would pass.
    env.reset(_SEEDS[1])
    shown = env.render_state(row)
    if not _is_picture(shown):
        yield f"render_state must return uint8 [S, S, 3], got {_describe(shown)}"
    elif not _look_alike(shown, picture):
        yield "render_state shows another picture than render did in that state"


def _is_picture(picture: Any) -> bool:
    shape: tuple[int, ...] = getattr(picture, "shape", ())
    is_square = len(shape) == 3 and shape[0] == shape[1] and shape[2] == 3
    return bool(is_square and picture.dtype == np.uint8)


def _describe(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {list(value.shape)}"
    return type(value).__name__


def _look_alike(one: NDArray[np.uint8], other: NDArray[np.uint8]) -> bool:
    difference = np.abs(one.astype(np.float64) - other)
    return bool(difference.mean() <= _GREY_LEVELS)
