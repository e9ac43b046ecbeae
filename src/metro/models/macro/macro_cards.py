"""Cards of macro models: what one is, how it was made and how well it predicts."""

from collections.abc import Mapping, Sequence
from typing import Any

from metro.models.macro.macro_config import SMALL_RATE
from metro.models.macro.macro_model import MacroModel
from metro.models.macro.offline_cost import MacroCost
from metro.models.macro.windows import WINDOW_FRAMES
from metro.models.weights import count_parameters


def macro_card(
    model: MacroModel,
    figures: Mapping[str, Any],
    cost: MacroCost,
    *,
    remarks: Sequence[str] = (),
) -> str:
    """Return the card of a trained macro model, in Markdown.

    Args:
        model: The model; its notes hold recipe and latents.
        figures: What `metro.models.macro.macro_train.train_macro_on_corpus` measured.
        cost: What training took.
        remarks: Further lines, such as success rates.
    """
    lines = [f"# {model.name}", "", *_network_lines(model), ""]
    lines += ["## Training", "", *_training_lines(model, cost), ""]
    lines += ["## What it knows", "", *_figure_lines(figures), ""]
    if remarks:
        lines += ["## What it reaches", "", *(f"- {line}" for line in remarks), ""]
    return "\n".join(lines)


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
    recipe, corpus = model.notes["recipe"], model.notes["origin"].get("corpus", {})
    rate = recipe["learning_rate"]
    changed = " (published: 5e-05)" if rate == SMALL_RATE else ""
    return [
        f"- corpus: {corpus.get('name', 'arrays')}, {model.notes['num_episodes']} "
        f"episodes, {model.notes['num_frames']} frames, digest "
        f"`{corpus.get('digest', 'unknown')}`",
        f"- windows of {WINDOW_FRAMES} frames, 5 waypoints each; {recipe['epochs']} "
        f"epochs of {recipe['batch_size']} windows a step, AdamW {rate}{changed}, "
        f"seed {recipe['seed']}, {recipe['threads']} CPU thread(s), float32",
        f"- cost: {cost}",
    ]


def _figure_lines(figures: Mapping[str, Any]) -> list[str]:
    held_out = "held-out " + str(figures["split"])
    lines = [f"Mean squared errors of a latent's numbers, on {held_out}.", ""]
    lines += ["| ahead | prediction | copying |", "|---|---|---|"]
    if "windows" in figures:
        lines.append(_row("next waypoint", figures["windows"]))
    return lines + [
        _row(f"{error['macro_steps']} macro step(s)", error)
        for error in figures["rollout"]
    ]


def _row(what: str, error: Mapping[str, float]) -> str:
    return f"| {what} | {error['prediction']:.4f} | {error['copy']:.4f} |"
