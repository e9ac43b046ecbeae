"""``metro train``: from a corpus to a model, its report and its card."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metro.errors import ModelError
from metro.models.cards import write_card
from metro.models.frozen import FrozenModel
from metro.models.loading import load_frozen
from metro.models.pixel_cache import dataset_from_corpus
from metro.models.presets import sizes_for
from metro.models.probes import report
from metro.models.sequences import split_episodes
from metro.models.train_config import TrainConfig
from metro.models.training import train
from metro.types import CorpusLike, Progress


@dataclass(frozen=True)
class Run:
    """A finished run: the model, its final figures, and where the files are."""

    model: FrozenModel
    figures: dict[str, Any]
    path: Path
    card: Path


def train_on_corpus(
    corpus: CorpusLike,
    path: str | Path,
    *,
    recipe: TrainConfig,
    preset: str = "small",
    init: str | Path | None = None,
    progress: Progress | None = None,
) -> Run:
    """Train on a corpus; write the model, ``.report.json``, ``.log.json`` and a card.

    Args:
        corpus: An open corpus.
        path: The ``.safetensors`` file to write.
        recipe: How to train.
        preset: ``small`` or ``paper``: the sizes of the network.
        init: A model to start from.
        progress: Called with (done, total) steps.
    """
    path = Path(path)
    started_from = None if init is None else load_frozen(init)
    footage = dataset_from_corpus(corpus)
    if footage.benchmark is None and preset == "small" and started_from is None:
        raise ModelError(
            f"{corpus.name} does not say which benchmark it shows, and the small "
            f"preset depends on it. Make it with metro record."
        )
    sizes = (
        started_from.network.sizes
        if started_from is not None
        else sizes_for(
            preset,
            benchmark=footage.benchmark or "",
            action_size=footage.actions.shape[1],
        )
    )
    training = train(
        footage, path, sizes=sizes, recipe=recipe, init=started_from, progress=progress
    )
    _, held_out = split_episodes(len(footage.lengths), recipe.held_out, recipe.seed)
    figures = report(training.model, footage, held_out)
    Path(f"{path}.report.json").write_text(json.dumps(figures, indent=1))
    card = path.with_suffix(".md")
    minutes = training.log[-1]["seconds"] / 60
    write_card(training.model, figures, card, minutes=minutes)
    return Run(training.model, figures, path, card)
