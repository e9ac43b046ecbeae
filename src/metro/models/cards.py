"""Model cards: what a model is, how it was made and what it reaches, in Markdown."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from metro.models.frozen import FrozenModel
from metro.models.weights import count_parameters

_HEADS = {
    "state_head": "regression of the recorded state",
    "pixel_head": "drawing of a thumbnail",
}


def write_card(
    model: FrozenModel,
    figures: Mapping[str, Any],
    path: str | Path,
    *,
    minutes: float,
    remarks: Sequence[str] = (),
) -> None:
    """Write the card of a trained model.

    Args:
        model: The model; its notes hold recipe and corpus.
        figures: What `metro.models.probes.report` returned.
        path: The ``.md`` file to write.
        minutes: How long training took.
        remarks: Further lines, such as success rates and where it fails.
    """
    Path(path).write_text(card_text(model, figures, minutes=minutes, remarks=remarks))


def card_text(
    model: FrozenModel,
    figures: Mapping[str, Any],
    *,
    minutes: float,
    remarks: Sequence[str] = (),
) -> str:
    """Return the card of `write_card`."""
    lines = [f"# {model.name}", "", *_network_lines(model), ""]
    lines += ["## Training", "", *_training_lines(model, minutes), ""]
    lines += ["## What it knows", "", *_figure_lines(figures), ""]
    if remarks:
        lines += ["## What it reaches", "", *(f"- {line}" for line in remarks), ""]
    return "\n".join(lines)


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
    recipe, corpus = model.notes["recipe"], model.notes["corpus"]
    settings = corpus.get("settings") or {}
    recorded = ", ".join(
        f"{name} {settings[name]}" for name in ("recipe", "seed") if name in settings
    )
    return [
        f"- corpus: {corpus.get('name', 'arrays')}, {model.notes['num_episodes']} "
        f"episodes, {model.notes['num_frames']} frames"
        + (f" ({recorded})" if recorded else "")
        + f", digest `{corpus.get('digest', 'unknown')}`",
        f"- {recipe['steps']} steps of {recipe['batch_size']} clips, AdamW "
        f"{recipe['learning_rate']}, seed {recipe['seed']}, {minutes:.0f} minutes on "
        f"{recipe['threads']} CPU thread(s)",
        f"- auxiliary losses: {_head_text(recipe)}",
        *(
            [f"- fine-tuned from `{model.notes['init']}`"]
            if model.notes["init"]
            else []
        ),
    ]


def _head_text(recipe: Mapping[str, Any]) -> str:
    used = [
        f"{what} from z, {recipe[name]} (weight {recipe['head_weight']})"
        for name, what in _HEADS.items()
        if recipe[name] != "none"
    ]
    return "; ".join(used) or "none, the published loss on pixels and actions only"


def _figure_lines(figures: Mapping[str, Any]) -> list[str]:
    health = figures["health"]
    lines = [
        f"- effective rank {health['effective_rank']:.1f}, mean cosine between random "
        f"frames {health['cosine']:.3f}"
    ]
    if "probe" in figures:
        scores = ", ".join(f"{key} {r2:.3f}" for key, r2 in figures["probe"].items())
        lines.append(f"- linear probe, R² on held-out episodes: {scores}")
    lines += ["", "| blocks ahead | prediction | copying |", "|---|---|---|"]
    lines += [
        f"| {error['blocks']} | {error['prediction']:.4f} | {error['copy']:.4f} |"
        for error in figures["prediction"]
    ]
    lines += ["", "| frames apart | gap / gap to random frames |", "|---|---|"]
    lines += [
        f"| {point['distance']} | {point['median']:.2f} |"
        for point in figures["saturation"]
    ]
    return lines
