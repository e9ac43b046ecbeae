"""Cards of macro models: what one is, how it was made and how well it predicts."""

from collections.abc import Mapping
from typing import Any

from metro.models.cards import join_card
from metro.models.macro.model import MacroModel
from metro.models.macro.training_cost import MacroCost
from metro.models.macro.windows import WINDOW_FRAMES
from metro.models.train_config import SMALL_RATE
from metro.models.weights import count_parameters


def macro_card(model: MacroModel, metrics: Mapping[str, Any], cost: MacroCost) -> str:
    """Return the card of a trained macro model, in Markdown.

    The metrics are those of `metro.models.macro.macro_train.macro_metrics`.
    """
    sections = (_network_lines(model), _training_lines(model, cost))
    return join_card(model.name, *sections, _metric_lines(metrics))


def _network_lines(model: MacroModel) -> list[str]:
    millions = count_parameters(model.network) / 1e6
    return [
        f"Macro model (Hi-LeWM) for {model.benchmark}, {millions:.2f} M parameters: "
        f"{model.latent_size}-d latents, {model.macro_size}-d macro actions of "
        f"5 blocks of 5 steps.",
        "",
        f"Digest `{model.digest}`, on top of the encoder `{model.encoder_digest}`.",
    ]


def _training_lines(model: MacroModel, cost: MacroCost) -> list[str]:
    config, corpus = model.notes["recipe"], model.notes["origin"].get("corpus", {})
    rate = config["learning_rate"]
    changed = " (published: 5e-05)" if rate == SMALL_RATE else ""
    return [
        f"- corpus: {corpus.get('name', 'arrays')}, {model.notes['num_episodes']} "
        f"episodes, {model.notes['num_frames']} frames, digest "
        f"`{corpus.get('digest', 'unknown')}`",
        f"- windows of {WINDOW_FRAMES} frames, 5 waypoints each; {config['epochs']} "
        f"epochs of {config['batch_size']} windows per step, AdamW {rate}{changed}, "
        f"seed {config['seed']}, {config['threads']} CPU thread(s), float32",
        f"- cost: {cost}",
    ]


def _metric_lines(metrics: Mapping[str, Any]) -> list[str]:
    held_out = "held-out " + str(metrics["split"])
    lines = [f"Mean squared errors of a latent's numbers, on {held_out}.", ""]
    lines += ["| ahead | prediction | copying |", "|---|---|---|"]
    if "windows" in metrics:
        lines.append(_row("next waypoint", metrics["windows"]))
    return lines + [
        _row(f"{error['macro_steps']} macro step(s)", error)
        for error in metrics["rollout"]
    ]


def _row(what: str, error: Mapping[str, float]) -> str:
    return f"| {what} | {error['prediction']:.4f} | {error['copy']:.4f} |"
