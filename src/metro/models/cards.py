"""Model cards: what a model is, how it was made and what it reaches, in Markdown."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic

from metro.models.frozen import FrozenModel
from metro.models.trainer import Training
from metro.models.training_task import Model
from metro.models.weights import count_parameters

_AUXILIARY = {
    "state_head": "regression of the recorded state",
    "pixel_head": "drawing of a thumbnail",
}


def card_text(model: FrozenModel, metrics: Mapping[str, Any], minutes: float) -> str:
    """Return the card of a world model, in Markdown; training took ``minutes``.

    The metrics are those of `metro.models.probes.report`.
    """
    sections = (_network_lines(model), _training_lines(model, minutes))
    return join_card(model.name, *sections, _metric_lines(metrics))


def join_card(
    name: str, network: Sequence[str], training: Sequence[str], metrics: Sequence[str]
) -> str:
    """Return a card of three sections."""
    lines = [f"# {name}", "", *network, ""]
    lines += ["## Training", "", *training, ""]
    lines += ["## What it knows", "", *metrics, ""]
    return "\n".join(lines)


@dataclass(frozen=True)
class Run(Generic[Model]):
    """A finished run: the model, its held-out metrics, its cost, and its files."""

    model: Model
    metrics: Mapping[str, Any]
    cost: Mapping[str, Any]
    path: Path
    card: Path


def write_results(
    training: Training[Model],
    metrics: Mapping[str, Any],
    cost: Mapping[str, Any],
    card: str,
) -> Run[Model]:
    """Write ``.report.json`` and a card beside a model; studies read its cost there."""
    run = Run(
        training.model, metrics, cost, training.path, training.path.with_suffix(".md")
    )
    report = json.dumps({**metrics, "cost": cost}, indent=1)
    Path(f"{run.path}.report.json").write_text(report)
    run.card.write_text(card)
    return run


def _network_lines(model: FrozenModel) -> list[str]:
    millions = count_parameters(model.network) / 1e6
    return [
        f"{model.family.upper()} for {model.benchmark}, {millions:.2f} M parameters, "
        f"{model.image_size} px frames ({model.rendering} rendering), "
        f"{model.latent_size}-d latents, action blocks of {model.action_block} steps.",
        "",
        f"Digest `{model.digest}`.",
    ]


def _training_lines(model: FrozenModel, minutes: float) -> list[str]:
    config, corpus = model.notes["recipe"], model.notes["corpus"]
    settings = corpus.get("settings") or {}
    recorded = ", ".join(
        f"{name} {settings[name]}" for name in ("recipe", "seed") if name in settings
    )
    return [
        f"- corpus: {corpus.get('name', 'arrays')}, {model.notes['num_episodes']} "
        f"episodes, {model.notes['num_frames']} frames"
        + (f" ({recorded})" if recorded else "")
        + f", digest `{corpus.get('digest', 'unknown')}`",
        f"- {config['steps']} steps of {config['batch_size']} sequences, AdamW "
        f"{config['learning_rate']}, seed {config['seed']}, {minutes:.0f} minutes on "
        f"{config['threads']} CPU thread(s)",
        f"- auxiliary losses: {_auxiliary_text(config)}",
        *(
            [f"- fine-tuned from `{model.notes['init']}`"]
            if model.notes["init"]
            else []
        ),
    ]


def _auxiliary_text(config: Mapping[str, Any]) -> str:
    used = [
        f"{what} from z, {config[name]} (weight {config['head_weight']})"
        for name, what in _AUXILIARY.items()
        if config[name] != "none"
    ]
    return "; ".join(used) or "none, the published loss on pixels and actions only"


def _metric_lines(metrics: Mapping[str, Any]) -> list[str]:
    health = metrics["health"]
    lines = [
        f"- effective rank {health['effective_rank']:.1f}, mean cosine between random "
        f"frames {health['cosine']:.3f}"
    ]
    if "probe" in metrics:
        scores = ", ".join(f"{key} {r2:.3f}" for key, r2 in metrics["probe"].items())
        lines.append(f"- linear probe, R² on held-out episodes: {scores}")
    lines += ["", "| blocks ahead | prediction | copying |", "|---|---|---|"]
    lines += [
        f"| {error['blocks']} | {error['prediction']:.4f} | {error['copy']:.4f} |"
        for error in metrics["prediction"]
    ]
    lines += ["", "| frames apart | gap / gap to random frames |", "|---|---|"]
    lines += [
        f"| {point['distance']} | {point['median']:.2f} |"
        for point in metrics["saturation"]
    ]
    return lines
