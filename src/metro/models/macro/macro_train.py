"""``metro train-macro``: from latents and a corpus to a macro model and its card."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from metro.core.latents import Latents
from metro.errors import ModelError
from metro.models.frozen import FrozenModel
from metro.models.macro.macro_cards import macro_card
from metro.models.macro.macro_config import MacroTrainConfig
from metro.models.macro.macro_data import make_trajectories
from metro.models.macro.macro_metrics import rollout_errors, window_errors
from metro.models.macro.macro_model import MacroModel
from metro.models.macro.macro_sizes import macro_sizes_for
from metro.models.macro.macro_training import (
    MacroTraining,
    split_windows,
    train_macro,
)
from metro.models.macro.offline_cost import MacroCost
from metro.models.macro.windows import Trajectories
from metro.models.sequences import split_episodes
from metro.types import CorpusLike, Progress


@dataclass(frozen=True)
class MacroSource:
    """What a macro model is trained on; the three must belong together."""

    latents: Latents
    corpus: CorpusLike
    model: FrozenModel


@dataclass(frozen=True)
class MacroRun:
    """A finished run: the model, its figures and cost, and where the files are."""

    model: MacroModel
    figures: dict[str, Any]
    cost: MacroCost
    path: Path
    card: Path


def train_macro_on_corpus(
    source: MacroSource,
    path: str | Path,
    *,
    recipe: MacroTrainConfig,
    preset: str = "small",
    metro_seconds: float | None = None,
    progress: Progress | None = None,
) -> MacroRun:
    """Train on cached latents; write the model, ``.report.json``, log and card.

    Args:
        source: Latents, recording and world model.
        path: The ``.safetensors`` file to write.
        recipe: How to train.
        preset: ``small`` or ``paper``: the sizes of the network.
        metro_seconds: Processor time of metro's offline stages on this corpus, to
            compare with.
        progress: Called with (done, total) steps.
    """
    path = Path(path)
    trajectories = make_trajectories(source.latents, source.corpus, source.model)
    sizes = macro_sizes_for(preset, source.model.network.sizes)
    training = train_macro(
        trajectories, source.model, path, sizes=sizes, recipe=recipe, progress=progress
    )
    figures = macro_figures(training.model, trajectories, recipe)
    cost = MacroCost(
        training.steps, training.seconds, training.cpu_seconds, metro_seconds
    )
    card = _write(training, figures, cost)
    return MacroRun(training.model, figures, cost, path, card)


def macro_figures(
    model: MacroModel, source: Trajectories, recipe: MacroTrainConfig
) -> dict[str, Any]:
    """Return the held-out errors of a model, beside those of copying.

    With ``split="windows"`` the rollouts start in episodes that were trained on, as
    in the published split.
    """
    number = len(source.lengths)
    _, judged = split_windows(source.lengths, recipe)
    _, held_out = split_episodes(number, recipe.held_out, recipe.seed)
    episodes = held_out if recipe.split == "episodes" else np.arange(number)
    figures: dict[str, Any] = {
        "split": recipe.split,
        "rollout": rollout_errors(model, source, episodes),
    }
    if len(judged):
        figures["windows"] = window_errors(model, source, judged)
    if not figures["rollout"]:
        raise ModelError(
            "No held-out episode has 26 frames, one macro step. Record longer episodes."
        )
    return figures


def _write(training: MacroTraining, figures: dict[str, Any], cost: MacroCost) -> Path:
    report = {**figures, "cost": cost.to_json()}
    Path(f"{training.path}.report.json").write_text(json.dumps(report, indent=1))
    card = training.path.with_suffix(".md")
    card.write_text(macro_card(training.model, figures, cost))
    return card
