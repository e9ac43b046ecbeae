"""``metro train-macro``: from latents and a corpus to a macro model and its card."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from metro.core.latents import Latents
from metro.errors import ModelError
from metro.models.cards import Run, write_results
from metro.models.frozen import FrozenModel
from metro.models.macro.macro_cards import macro_card
from metro.models.macro.macro_training import MacroTask
from metro.models.macro.metrics import rollout_errors, window_errors
from metro.models.macro.model import MacroModel
from metro.models.macro.sizes import macro_sizes_for
from metro.models.macro.training_cost import MacroCost
from metro.models.macro.windows import WINDOW_FRAMES, Trajectories
from metro.models.sequences import split_episodes, split_starts
from metro.models.train_config import MacroTrainConfig
from metro.models.trainer import run_training
from metro.types import CorpusLike, Progress


@dataclass(frozen=True)
class MacroSource:
    """What a macro model is trained on; the three must belong together."""

    latents: Latents
    corpus: CorpusLike
    model: FrozenModel


def train_macro_on_corpus(
    source: MacroSource,
    path: str | Path,
    *,
    config: MacroTrainConfig,
    preset: str = "small",
    metro_seconds: float | None = None,
    progress: Progress | None = None,
) -> Run[MacroModel]:
    """Train on cached latents; write the model, ``.report.json``, log and card.

    The preset, ``small`` or ``paper``, decides the sizes of the network. Costs are
    compared with ``metro_seconds``, the processor time of metro's offline stages.
    """
    trajectories = Trajectories.of(source.latents, source.corpus, source.model)
    sizes = macro_sizes_for(preset, source.model.network.sizes)
    with run_training(
        lambda: MacroTask(trajectories, source.model, sizes, config),
        path,
        threads=config.threads,
        progress=progress,
    ) as training:
        metrics = macro_metrics(training.model, trajectories, config)
        cost = MacroCost(
            training.steps, training.seconds, training.cpu_seconds, metro_seconds
        )
        text = macro_card(training.model, metrics, cost)
        return write_results(training, metrics, cost.to_json(), text)


def macro_metrics(
    model: MacroModel, source: Trajectories, config: MacroTrainConfig
) -> dict[str, Any]:
    """Return the held-out errors of a model, beside those of copying.

    With ``split="windows"`` the rollouts start in episodes that were trained on, as
    in the published split.
    """
    number = len(source.lengths)
    _, judged = split_starts(source.lengths, config, rows=WINDOW_FRAMES)
    _, held_out = split_episodes(number, config.held_out, config.seed)
    episodes = held_out if config.split == "episodes" else np.arange(number)
    metrics: dict[str, Any] = {
        "split": config.split,
        "rollout": rollout_errors(model, source, episodes),
    }
    if len(judged):
        metrics["windows"] = window_errors(model, source, judged)
    if not metrics["rollout"]:
        raise ModelError(
            "No held-out episode has 26 frames, one macro step. Record longer episodes."
        )
    return metrics
