"""What metro costs once per corpus, beside training a macro model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from metro.report.document import Table, Text
from metro.report.study import Row, Section, Study
from metro.studies.common import (
    NONE,
    commits_of,
    paper_table,
    read_each,
    require_once,
)

NAME = "offline-cost"

_READING = (
    "Minutes once per corpus. Metro: one pass of the encoder over every frame "
    "(measured on a sample of the episodes, taken in proportion), the exact neighbour "
    "table, pricing curve and bridges; no gradient step. Beside it the training of the "
    "macro model on the same latents, as its own report tells. Ours ran on CPU threads "
    "of one machine with small models and corpora, the paper's on 1 and 4 GPUs. CPU is "
    "processor time, of metro's total and of training: what else runs on the machine "
    "makes minutes longer, processor time hardly. The ratio is of processor time; the "
    "paper's is of GPU time. The load is the machine's average over a minute, before "
    "and after metro's stages."
)


@dataclass(frozen=True)
class Cost:
    """What one row says; seconds of metro, minutes of training."""

    benchmark: str
    model: str
    digests: tuple[str, ...]
    frames: int
    encode: float
    table: float
    graph: float
    cpu: float
    macro: str | None
    steps: int | None
    minutes: float | None
    cpu_minutes: float | None
    load: tuple[float, float]
    cores: int
    threads: int

    @property
    def total(self) -> float:
        """Seconds that metro needs altogether."""
        return self.encode + self.table + self.graph

    @property
    def ratio(self) -> float | None:
        """Processor time of training over metro's; None: nobody measured it."""
        return None if self.cpu_minutes is None else 60 * self.cpu_minutes / self.cpu


def question_of(row: Row) -> tuple[Any, ...]:
    """Return what a row answers: the same twice is not measured again."""
    parts = [(row[part] or {}).get("digest") for part in ("model", "corpus", "macro")]
    return (row["benchmark"], *parts, str(sorted(row["setting"].items())))


def render(rows: Sequence[Row]) -> Section:
    """Return our costs and the paper's. Paper: Sec. 6.2."""
    costs = sorted(
        read_each(rows, NAME, _read), key=lambda cost: (cost.benchmark, cost.digests)
    )
    require_once([f"{cost.benchmark}, {cost.model}" for cost in costs], NAME)
    header = (
        "benchmark",
        "model",
        "frames",
        "encode",
        "table",
        "graph",
        "total",
        "CPU",
    )
    table = Table(
        (
            *header,
            "macro model",
            "steps",
            "minutes",
            "training CPU",
            "ratio",
            "load",
            "cores, threads",
        ),
        tuple(map(_line, costs)),
        f"Minutes; {commits_of(rows)}.",
    )
    return Section((Text(_READING), table, _paper()))


def _line(cost: Cost) -> tuple[str, ...]:
    spent = (cost.encode, cost.table, cost.graph, cost.total, cost.cpu)
    return (
        cost.benchmark,
        cost.model,
        f"{cost.frames:,}",
        *(f"{seconds / 60:.2f}" for seconds in spent),
        cost.macro or "not trained",
        NONE if cost.steps is None else f"{cost.steps:,}",
        NONE if cost.minutes is None else f"{cost.minutes:.1f}",
        NONE if cost.cpu_minutes is None else f"{cost.cpu_minutes:.1f}",
        NONE if cost.ratio is None else f"{cost.ratio:.1f}",
        f"{cost.load[0]:.1f}, {cost.load[1]:.1f}",
        f"{cost.cores}, {cost.threads}",
    )


def _paper() -> Table:
    lines = [
        (
            told["benchmark"],
            f"{told['encode']:.1f}",
            f"{told['index']:.1f}",
            f"{told['total']:.1f}",
            f"{told['steps']:,}",
            f"{told['hours']:.2f}",
            f"{told['gpu_hours']:.1f}",
            f"{60 * told['gpu_hours'] / told['total']:.1f}",
        )
        for told in paper_table("offline_cost")
    ]
    header = (
        "paper",
        "encode",
        "index",
        "total",
        "steps",
        "hours",
        "GPU-hours",
        "ratio",
    )
    caption = "Minutes of metro's on 1 GPU; ratio: GPU time of training over metro's."
    return Table(header, tuple(lines), caption)


def _read(row: Row) -> Cost:
    seconds, macro = row["seconds"], row["macro"]
    before, after = map(float, row["load"])
    return Cost(
        benchmark=str(row["benchmark"]),
        model=str(row["model"]["name"]),
        digests=(str(row["model"]["digest"]), str(row["corpus"]["digest"])),
        frames=int(row["frames"]),
        encode=float(seconds["encode"]),
        table=float(seconds["table"]),
        graph=float(seconds["graph"]),
        cpu=float(seconds["cpu"]),
        macro=None if macro is None else str(macro["name"]),
        steps=None if macro is None else int(macro["steps"]),
        minutes=None if macro is None else float(macro["minutes"]),
        cpu_minutes=None if macro is None else macro.get("cpu_minutes"),
        load=(before, after),
        cores=int(row["cores"]),
        threads=int(row["setting"]["threads"]),
    )


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
