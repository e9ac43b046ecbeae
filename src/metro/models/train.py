"""``metro train``: from a corpus to a model, its report and its card."""

from pathlib import Path

from metro.errors import ModelError
from metro.models.cards import Run, card_text, write_results
from metro.models.frozen import FrozenModel
from metro.models.loading import load_frozen
from metro.models.pixel_cache import dataset_from_corpus
from metro.models.presets import sizes_for
from metro.models.probes import report
from metro.models.sequences import TrajectoryDataset, split_episodes
from metro.models.train_config import TrainConfig
from metro.models.trainer import Training, run_training
from metro.models.training import WorldModelTask
from metro.types import CorpusLike, Progress


def train_on_corpus(
    corpus: CorpusLike,
    path: str | Path,
    *,
    config: TrainConfig,
    preset: str = "small",
    init: str | Path | None = None,
    progress: Progress | None = None,
) -> Run[FrozenModel]:
    """Train on a corpus; write the model, ``.report.json``, ``.log.json`` and a card.

    The preset, ``small`` or ``paper``, decides the sizes of the network, unless
    ``init`` is a model to start from.
    """
    # Before pixels are decoded: a wrong name must fail at once.
    started_from = None if init is None else load_frozen(init)
    dataset = dataset_from_corpus(corpus)
    if dataset.benchmark is None and preset == "small" and started_from is None:
        raise ModelError(
            f"{corpus.name} does not say which benchmark it shows, and the small "
            f"preset depends on it. Make it with metro record."
        )
    sizes = (
        started_from.network.sizes
        if started_from is not None
        else sizes_for(
            preset,
            benchmark=dataset.benchmark or "",
            action_size=dataset.actions.shape[1],
        )
    )
    with run_training(
        lambda: WorldModelTask(dataset, sizes, config=config, init=started_from),
        path,
        threads=config.threads,
        progress=progress,
    ) as training:
        return _finish(training, dataset, config)


def _finish(
    training: Training[FrozenModel], dataset: TrajectoryDataset, config: TrainConfig
) -> Run[FrozenModel]:
    """Judge a trained model on held-out episodes; write its report and its card."""
    _, held_out = split_episodes(len(dataset.lengths), config.held_out, config.seed)
    metrics = report(training.model, dataset, held_out)
    minutes = training.seconds / 60
    cost = {
        "steps": training.steps,
        "minutes": round(minutes, 3),
        "cpu_minutes": round(training.cpu_seconds / 60, 3),
    }
    text = card_text(training.model, metrics, minutes)
    return write_results(training, metrics, cost, text)
