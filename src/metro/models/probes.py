"""What a trained model knows: state probes, prediction against copying, rank."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.core.gap_saturation import measure_saturation
from metro.core.latents import Latents
from metro.models.action_stats import require_stats
from metro.models.frozen import FrozenModel, check_health
from metro.models.presets import ACTION_BLOCK
from metro.models.sequences import TrajectoryDataset, sequence_starts

HORIZONS = (1, 2, 3, 4, 5)
"""Blocks ahead at which prediction is compared with copying."""

_QUICK_SEQUENCES = 256
_QUICK_FRAMES, _FRAMES = 1500, 20_000
"""Frames that fit and judge the probes, in a check and in the final report."""


def prediction_errors(
    model: FrozenModel,
    dataset: TrajectoryDataset,
    episodes: NDArray[np.int64],
    *,
    horizons: Sequence[int] = HORIZONS,
    num_sequences: int = 1000,
) -> list[dict[str, float]]:
    """Return the mean squared error after k blocks, beside that of copying z.

    Args:
        model: Rolled out from one latent, with the recorded actions.
        dataset: The corpus.
        episodes: Where to draw sequences from, best held out.
        horizons: k, in blocks; those longer than all episodes are left out.
        num_sequences: How many sequences to draw.
    """
    rng = np.random.default_rng(0)
    longest = max(horizons)
    # One set of starts for all horizons, so that their errors can be compared.
    while longest > 0:
        starts = sequence_starts(
            dataset.lengths, episodes, rows=longest * ACTION_BLOCK + 1
        )
        if len(starts):
            break
        longest -= 1
    else:
        return []
    # Sorted: pixels may be a memory map, best read in one direction.
    starts = np.sort(rng.choice(starts, min(num_sequences, len(starts)), replace=False))
    frames = starts[:, None] + ACTION_BLOCK * np.arange(longest + 1)
    z = model.encode(dataset.pixels[frames.ravel()]).reshape(*frames.shape, -1)
    rows = starts[:, None] + np.arange(longest * ACTION_BLOCK)
    blocks = (
        require_stats(model)
        .normalise(dataset.actions[rows])
        .reshape(len(starts), longest, -1)
    )
    predicted = model.rollout(z[:, 0], blocks)
    return [
        {
            "blocks": k,
            "prediction": float(np.square(predicted[:, k - 1] - z[:, k]).mean()),
            "copy": float(np.square(z[:, 0] - z[:, k]).mean()),
        }
        for k in horizons
        if k <= longest
    ]


def probe_state(
    z: NDArray[np.float32],
    states: NDArray[np.float32],
    is_held_out: NDArray[np.bool_],
    *,
    names: Sequence[str],
) -> dict[str, float]:
    """Return R² of each state column, read from z by ridge regression.

    Args:
        z: ``[N, D]`` latents.
        states: ``[N, K]`` true state of the same frames.
        is_held_out: ``[N]`` frames to judge on; the others fit the regression.
        names: K names.
    """
    weights = _ridge(z[~is_held_out], states[~is_held_out])
    predicted = _with_constant(z[is_held_out]) @ weights
    truth = np.asarray(states[is_held_out], dtype=np.float64)
    residual = np.square(predicted - truth).mean(axis=0)
    spread = truth.var(axis=0)
    scores = 1 - residual / np.where(spread > 0, spread, 1)
    return {name: float(score) for name, score in zip(names, scores, strict=True)}


def quick_check(
    model: FrozenModel, dataset: TrajectoryDataset, held_out: NDArray[np.int64]
) -> dict[str, Any]:
    """Return a few metrics that take a second: for the log while training."""
    errors = prediction_errors(
        model, dataset, held_out, horizons=(1, 5), num_sequences=_QUICK_SEQUENCES
    )
    metrics: dict[str, Any] = {
        f"{name}_{error['blocks']}": round(error[name], 5)
        for error in errors
        for name in ("prediction", "copy")
    }
    rows, is_held_out = _draw_rows(dataset, held_out, _QUICK_FRAMES)
    z = model.encode(dataset.pixels[rows])
    metrics["effective_rank"] = round(check_health(z).effective_rank, 2)
    if dataset.states is not None:
        scores = probe_state(
            z, dataset.states[rows], is_held_out, names=dataset.state_names
        )
        metrics["probe"] = {name: round(score, 4) for name, score in scores.items()}
    return metrics


def report(
    model: FrozenModel, dataset: TrajectoryDataset, held_out: NDArray[np.int64]
) -> dict[str, Any]:
    """Return the final metrics of a model as JSON values.

    It was trained on the dataset without the episodes that were held out.
    """
    rows, is_held_out = _draw_rows(dataset, held_out, _FRAMES)
    z = model.encode(dataset.pixels[rows])
    metrics: dict[str, Any] = {"health": vars(check_health(z))}
    if dataset.states is not None:
        metrics["probe"] = probe_state(
            z, dataset.states[rows], is_held_out, names=dataset.state_names
        )
    metrics["prediction"] = prediction_errors(model, dataset, held_out)
    latents = _latents(model, dataset, held_out[:200])
    metrics["saturation"] = [vars(point) for point in measure_saturation(latents)]
    return metrics


def _latents(
    model: FrozenModel, dataset: TrajectoryDataset, episodes: NDArray[np.int64]
) -> Latents:
    offsets = dataset.offsets
    return Latents.from_episodes(
        [
            model.encode(dataset.pixels[offsets[episode] : offsets[episode + 1]])
            for episode in episodes
        ]
    )


def _draw_rows(
    dataset: TrajectoryDataset, held_out: NDArray[np.int64], number: int
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return random rows, a third of them of held-out episodes, and which those are."""
    # Fixed: successive checks must show the model change, not the draw.
    rng = np.random.default_rng(0)
    others = np.setdiff1d(np.arange(len(dataset.lengths)), held_out)
    fit = sequence_starts(dataset.lengths, others, rows=1)
    judge = sequence_starts(dataset.lengths, held_out, rows=1)
    fit = rng.choice(fit, min(len(fit), number * 2 // 3), replace=False)
    judge = rng.choice(judge, min(len(judge), number // 3), replace=False)
    rows = np.concatenate([np.sort(fit), np.sort(judge)])
    return rows, np.arange(len(rows)) >= len(fit)


def _ridge(z: NDArray[Any], states: NDArray[Any]) -> NDArray[np.float64]:
    """Return ``[D + 1, K]`` weights; the penalty is tiny and relative to z's scale."""
    rows = _with_constant(z)
    gram = rows.T @ rows
    penalty = 1e-6 * np.trace(gram) / len(gram)
    solved = np.linalg.solve(
        gram + penalty * np.eye(len(gram)),
        rows.T @ np.asarray(states, dtype=np.float64),
    )
    return np.asarray(solved)


def _with_constant(z: NDArray[Any]) -> NDArray[np.float64]:
    return np.column_stack([np.asarray(z, dtype=np.float64), np.ones(len(z))])
