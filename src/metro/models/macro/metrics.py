"""How well a macro model predicts: beside copying, one window or one plan ahead."""

import numpy as np
import torch
from numpy.typing import NDArray

from metro.models.macro.model import MacroModel
from metro.models.macro.sizes import CHUNK_BLOCKS, NUM_WAYPOINTS
from metro.models.macro.windows import Trajectories, gather, sample_waypoints
from metro.models.presets import ACTION_BLOCK
from metro.models.sequences import sequence_starts

CHUNK_FRAMES = CHUNK_BLOCKS * ACTION_BLOCK
"""Frames of one macro step while planning: 25."""

MEASURED = 1000
"""Windows, and starts of rollouts, that are measured at most."""


def window_errors(
    model: MacroModel,
    source: Trajectories,
    starts: NDArray[np.int64],
) -> dict[str, float]:
    """Return the loss on windows, and that of copying the waypoint before.

    Windows are drawn from those with these first frames, best held out.
    """
    rng = np.random.default_rng(0)
    drawn = np.sort(rng.choice(starts, min(MEASURED, len(starts)), replace=False))
    batch = gather(source, drawn, sample_waypoints(len(drawn), rng))
    z = torch.from_numpy(batch.z)
    with torch.inference_mode():
        actions = model.network.encode(
            torch.from_numpy(batch.blocks), torch.from_numpy(batch.is_padding)
        )
        predicted = model.network.predict(z[:, :-1], actions)
    return {
        "prediction": float((predicted - z[:, 1:]).square().mean()),
        "copy": float((z[:, :-1] - z[:, 1:]).square().mean()),
    }


def rollout_errors(
    model: MacroModel,
    source: Trajectories,
    episodes: NDArray[np.int64],
) -> list[dict[str, float]]:
    """Return mean squared errors after 1, 2, ... macro steps of 25 frames.

    The model is rolled out from one latent of these episodes, best held out, with
    recorded actions, as while planning. Macro steps that no episode is long enough for
    are left out.
    """
    metrics = []
    for steps in range(1, NUM_WAYPOINTS):
        starts = sequence_starts(
            source.lengths, episodes, rows=steps * CHUNK_FRAMES + 1
        )
        if len(starts) == 0:
            break
        # Seeded per length: one length more or less does not move the others.
        rng = np.random.default_rng(0)
        drawn = rng.choice(starts, min(MEASURED, len(starts)), replace=False)
        metrics.append(_rollout_error(model, source, np.sort(drawn), steps))
    return metrics


def _rollout_error(
    model: MacroModel, source: Trajectories, starts: NDArray[np.int64], steps: int
) -> dict[str, float]:
    offsets = ACTION_BLOCK * np.arange(steps * CHUNK_BLOCKS)
    blocks = source.blocks(starts[:, None] + offsets)
    chunks = torch.from_numpy(blocks).reshape(-1, CHUNK_BLOCKS, blocks.shape[-1])
    actions = model.encode(chunks).reshape(len(starts), steps, -1)
    last = source.z[starts + steps * CHUNK_FRAMES]
    predicted = model.rollout(torch.from_numpy(source.z[starts]), actions)[:, -1]
    return {
        "macro_steps": steps,
        "prediction": float(np.square(predicted.numpy() - last).mean()),
        "copy": float(np.square(source.z[starts] - last).mean()),
    }
