"""Metro's offline cost measured here and now, and a macro model's as it was told."""

import json
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metro.assets import asset_path, macro_asset_names
from metro.core.latents import Latents
from metro.core.neighbours import SMALL, find_neighbours
from metro.data.collect.spec import library_versions
from metro.data.corpus import Corpus
from metro.errors import ModelError
from metro.models.frozen import FrozenModel
from metro.models.macro.macro_data import require_latents_of
from metro.models.macro.macro_weights import load_macro
from metro.models.macro.offline_cost import SAMPLED, measure_offline
from metro.studies.offline_cost.section import NAME
from metro.version import commit

_CARD = re.compile(
    r"^- cost: (\d+) steps, ([\d.]+) minutes(?: \(([\d.]+) of processor time\))?",
    re.MULTILINE,
)


@dataclass(frozen=True)
class Subject:
    """What the cost is of; the three must belong together."""

    corpus: Corpus
    model: FrozenModel
    latents: Latents


def describe_cost(
    subject: Subject, macro: str | None, *, waypoint_budget: int, threads: int
) -> dict[str, Any]:
    """Return a row without what is measured.

    Raises:
        ModelError: If the latents or the macro model are of something else.
    """
    corpus, model, latents = subject.corpus, subject.model, subject.latents
    require_latents_of(latents, corpus, model)
    return {
        "study": NAME,
        "benchmark": corpus.benchmark or model.benchmark,
        "model": {"name": model.name, "family": model.family, "digest": model.digest},
        "corpus": {
            "name": Path(corpus.name).name,
            "digest": corpus.digest,
            "episodes": corpus.num_episodes,
        },
        "latents": latents.digest,
        "frames": latents.num_frames,
        "macro": None if macro is None else training_cost(macro, model),
        "setting": {
            "waypoint_budget": waypoint_budget,
            "threads": threads,
            "sampled_episodes": min(SAMPLED, corpus.num_episodes),
        },
        "versions": library_versions() | {"commit": commit()},
    }


def training_cost(source: str, model: FrozenModel) -> dict[str, Any]:
    """Return a macro model's training: steps, minutes on clock and CPU, who says so.

    From the report beside its file, else from its card. Decision: D28.
    """
    macro = load_macro(source)
    if macro.encoder_digest != model.digest:
        raise ModelError(
            f"{macro.name} is for the encoder {macro.encoder_digest[:12]}, not for "
            f"{model.name} ({model.digest[:12]}). Train one: metro train-macro."
        )
    path = asset_path(source) if source in macro_asset_names() else Path(source)
    named = {"name": macro.name, "digest": macro.digest}
    report, card = Path(f"{path}.report.json"), path.with_suffix(".md")
    if report.is_file():
        cost = json.loads(report.read_text()).get("cost", {})
        if {"steps", "minutes"} <= cost.keys():
            told = {
                name: cost.get(name) for name in ("steps", "minutes", "cpu_minutes")
            }
            return {**named, **told, "source": report.name}
    found = _CARD.search(card.read_text()) if card.is_file() else None
    if found is None:
        raise ModelError(
            f"Neither {report.name} nor {card.name} beside {path} tells what training "
            f"took. Train it with metro train-macro, or leave --macro out."
        )
    steps, minutes, cpu_minutes = found.groups()
    return {
        **named,
        "steps": int(steps),
        "minutes": float(minutes),
        "cpu_minutes": None if cpu_minutes is None else float(cpu_minutes),
        "source": card.name,
    }


def measure_row(subject: Subject, told: dict[str, Any]) -> dict[str, Any]:
    """Return a row with its seconds, and the machine's load before and after."""
    import torch

    setting, latents = told["setting"], subject.latents
    before, threads = os.getloadavg()[0], torch.get_num_threads()
    torch.set_num_threads(setting["threads"])
    try:
        _load_kernels(latents)
        spent = measure_offline(
            subject.corpus,
            subject.model,
            latents,
            waypoint_budget=setting["waypoint_budget"],
            workers=setting["threads"],
        )
    finally:
        torch.set_num_threads(threads)
    return {
        **told,
        "seconds": {name: round(value, 3) for name, value in vars(spent).items()},
        "load": [round(before, 2), round(os.getloadavg()[0], 2)],
        "cores": os.cpu_count(),
    }


def _load_kernels(latents: Latents) -> None:
    """Load compiled kernels now, not on the measured time."""
    needed = int((latents.episode_lengths.cumsum() < SMALL).sum()) + 1
    find_neighbours(latents.subset(range(min(needed, latents.num_episodes))))
