"""What metro costs once per corpus, beside training a macro model."""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metro.analysis.formatting import number
from metro.analysis.paper import paper_table
from metro.errors import ModelError
from metro.evaluation.records import Record
from metro.report.document import Table, Text
from metro.report.study import Section, Study
from metro.studies.common import (
    commits_of,
    measure_missing,
    parse_rows,
    require_once,
)
from metro.version import commit

# Reports must be written without torch: only `run` and what it calls import it.
if TYPE_CHECKING:
    from metro.core.latents import Latents
    from metro.data.corpus import Corpus
    from metro.models.frozen import FrozenModel

NAME = "offline-cost"
_PHASES = ("encode", "table", "graph", "total")
_HEADER = (
    *("benchmark", "model", "frames", *_PHASES, "CPU"),
    *("macro model", "steps", "minutes", "training CPU", "ratio"),
    *("load", "cores, threads"),
)
_READING = (
    "Minutes once per corpus. Metro: one pass of the encoder over every frame "
    "(measured on a sample of the episodes, taken in proportion), the exact neighbour "
    "table, pricing curve and bridges; no gradient step. Beside it the training of the "
    "macro model on the same latents, from its own report. Ours ran on CPU threads "
    "of one machine with small models and corpora, the paper's on 1 and 4 GPUs. CPU is "
    "processor time, of metro's total and of training: other programs on the machine "
    "make minutes longer, but hardly processor time. The ratio is of processor time; "
    "the paper's is of GPU time. The load is the machine's average over a minute, "
    "before and after metro's stages."
)


@dataclass(frozen=True)
class OfflineCostConfig:
    """What is measured: the options of ``metro study offline-cost``."""

    benchmark: str
    corpus: str
    model: str
    latents: Path
    output: Path
    macro: str | None = None
    waypoint_budget: int = 8
    threads: int = 1
    trust_pickle: bool = False
    device: str | None = None


def run(config: OfflineCostConfig) -> list[dict[str, Any]]:
    """Measure metro's stages, unless the file already has them; return the row."""
    from metro.benchmark import load_benchmark
    from metro.data.corpus import open_corpus
    from metro.models.devices import choose_device
    from metro.models.loading import load_frozen
    from metro.storage.readers import read_latents

    with open_corpus(config.corpus) as corpus:
        corpus.require(load_benchmark(config.benchmark))
        model = load_frozen(config.model, trust_pickle=config.trust_pickle)
        # The CPU unless asked: processor time does not count what a GPU does.
        model.to(choose_device(config.device or "cpu"))
        subject = (corpus, model, read_latents(config.latents))
        row = _describe(*subject, config)
        wanted = [(row, lambda: _measure(*subject, row))]
        return list(measure_missing(wanted, config.output, run_key))


def run_key(row: Record) -> tuple[Any, ...]:
    """Return what a row measures: a second row of the same key is not measured."""
    parts = [(row[part] or {}).get("digest") for part in ("model", "corpus", "macro")]
    # A key must be hashable, and JSON objects have no order.
    return (row["benchmark"], *parts, str(sorted(row["setting"].items())))


def _describe(
    corpus: "Corpus",
    model: "FrozenModel",
    latents: "Latents",
    config: OfflineCostConfig,
) -> dict[str, Any]:
    """Return the row without what is measured."""
    from metro.data.collect.spec import library_versions
    from metro.models.macro.training_cost import SAMPLED
    from metro.models.macro.windows import require_latents_of

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
        "macro": None if config.macro is None else training_cost(config.macro, model),
        "setting": {
            "waypoint_budget": config.waypoint_budget,
            "threads": config.threads,
            # Part of the key: with more episodes it is another measurement.
            "sampled_episodes": min(SAMPLED, corpus.num_episodes),
        },
        "versions": library_versions() | {"commit": commit()},
    }


def training_cost(source: str, model: "FrozenModel") -> dict[str, Any]:
    """Return what a macro model's training took: steps, minutes on clock and CPU.

    Read from the report beside its file. Decision: D28.
    """
    from metro.assets import asset_path, macro_asset_names
    from metro.models.macro.macro_weights import load_macro

    macro = load_macro(source)
    macro.require_encoder(model)
    path = asset_path(source) if source in macro_asset_names() else Path(source)
    named = {"name": macro.name, "digest": macro.digest}
    report = Path(f"{path}.report.json")
    # A missing report and one without costs need the same advice.
    cost = json.loads(report.read_text()).get("cost", {}) if report.is_file() else {}
    if not {"steps", "minutes"} <= cost.keys():
        raise ModelError(
            f"{report.name} beside {path} does not say what training took. Train the "
            f"model with metro train-macro, or leave --macro out."
        )
    # Processor time is optional: reports of earlier trainings lack it.
    kept = {name: cost.get(name) for name in ("steps", "minutes", "cpu_minutes")}
    return {**named, **kept, "source": report.name}


def _measure(
    corpus: "Corpus", model: "FrozenModel", latents: "Latents", row: dict[str, Any]
) -> dict[str, Any]:
    """Return the row with its seconds, and the machine's load before and after."""
    from metro.models.macro.training_cost import measure_offline
    from metro.models.trainer import torch_threads

    setting = row["setting"]
    # The load says how far to trust the minutes: others may have used the machine.
    before = os.getloadavg()[0]
    with torch_threads(setting["threads"]):
        spent = measure_offline(
            *(corpus, model, latents),
            waypoint_budget=setting["waypoint_budget"],
            workers=setting["threads"],
        )
    return {
        **row,
        "seconds": {name: round(value, 3) for name, value in asdict(spent).items()},
        "load": [round(before, 2), round(os.getloadavg()[0], 2)],
        "cores": os.cpu_count(),
    }


def _parse(row: Record) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what a row is sorted by, and its line under `_HEADER`."""
    seconds = {name: float(row["seconds"][name]) for name in (*_PHASES[:3], "cpu")}
    # Summed here: a total on file could disagree with its parts.
    seconds["total"] = sum(seconds[name] for name in _PHASES[:3])
    before, after = map(float, row["load"])
    macro = row["macro"] or {"name": "not trained", "steps": None}
    cpu = macro.get("cpu_minutes")
    model, benchmark = row["model"], str(row["benchmark"])
    # Digests break ties, so that lines keep their places in every report.
    order = (benchmark, str(model["digest"]), str(row["corpus"]["digest"]))
    return order, (
        *(benchmark, str(model["name"]), f"{int(row['frames']):,}"),
        *(f"{seconds[phase] / 60:.2f}" for phase in (*_PHASES, "cpu")),
        str(macro["name"]),
        number(macro["steps"], ","),
        number(macro.get("minutes"), ".1f"),
        number(cpu, ".1f"),
        number(cpu and 60 * cpu / seconds["cpu"], ".1f"),
        f"{before:.1f}, {after:.1f}",
        f"{int(row['cores'])}, {int(row['setting']['threads'])}",
    )


def render(rows: Sequence[Record]) -> Section:
    """Return our costs and the paper's. Paper: Sec. 6.2."""
    lines = tuple(line for _, line in sorted(parse_rows(rows, NAME, _parse)))
    require_once([", ".join(line[:2]) for line in lines], NAME)
    table = Table(_HEADER, lines, f"Minutes; {commits_of(rows)}.")
    return Section((Text(_READING), table, _paper_table()))


def _paper_table() -> Table:
    phases = ("encode", "index", "total")
    lines = [
        (
            one["benchmark"],
            *(f"{one[phase]:.1f}" for phase in phases),
            f"{one['steps']:,}",
            f"{one['hours']:.2f}",
            f"{one['gpu_hours']:.1f}",
            f"{60 * one['gpu_hours'] / one['total']:.1f}",
        )
        for one in paper_table("offline_cost")
    ]
    header = ("paper", *phases, "steps", "hours", "GPU-hours", "ratio")
    caption = "Minutes of metro's on 1 GPU; ratio: GPU time of training over metro's."
    return Table(header, tuple(lines), caption)


OFFLINE_COST = Study(
    name=NAME,
    title="Offline cost",
    question="What does metro cost once per corpus, and what does a macro model?",
    command=(
        "metro study offline-cost tworoom --corpus tworoom.h5 "
        "--latents tworoom.latents --model lewm-small-tworoom "
        "--macro macro-lewm-small-tworoom "
        "-o results/studies/offline-cost.jsonl"
    ),
    render=render,
)
