"""Plans with bridges priced by the model's reach, and by a head trained for it."""

import os
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import torch

from metro.core.graph import FrameGraph, build_graph
from metro.core.reach import ReachPricing
from metro.data.reach_table import measure_table
from metro.errors import BenchmarkError
from metro.evaluation.context import EvalConfig, EvalContext
from metro.evaluation.records import Record
from metro.models.learned_reach import LearnedReach, load_head
from metro.models.reach_measure import fit_floor
from metro.models.reach_training import train_head
from metro.planners.methods.metro import BY_HEAD, REACH, RECORDED
from metro.storage.parts import Parts
from metro.studies.planning import PlanningConfig, plan_in_each
from metro.types import Progress, ProgressBar


def run(config: PlanningConfig, bar: ProgressBar) -> list[Record]:
    """Train the head if it is missing, plan every query by both prices; return rows.

    The head is kept beside the rows, and what it says of every bridge beside the head.
    """
    metro = config.metro_settings()
    by_model, by_head = (
        [replace(one, option=option) for option in options for one in metro]
        for options in ((REACH, f"{REACH}-{RECORDED}"), BY_HEAD)
    )
    # The model's reach first: a wrong corpus or query is found before the training.
    parts = [config.source]
    rows = plan_in_each(parts, by_model, config, bar=bar, title="priced by the model")
    head = config.output.with_suffix(".head.safetensors")
    learned = LearnedConfig(**vars(config.source), head=head)
    learned.prepare(bar)
    title = "priced by the head"
    return rows + plan_in_each([learned], by_head, config, bar=bar, title=title)


@dataclass(frozen=True)
class LearnedConfig(EvalConfig):
    """Where the parts are, with the head that prices the graph's bridges.

    Attributes:
        head: The file of the head.
    """

    head: Path = field(kw_only=True)

    def prepare(self, bar: ProgressBar) -> None:
        """Train the head and ask it about every bridge, unless that was done."""
        with super().open() as context:
            graph, _ = _with_reach(context.graph)
            block = context.benchmark.action_block
        if not self.head.exists():
            with bar("Training the head") as progress:
                pairs = graph.latents, graph.table
                train_head(*pairs, self.head, block=block, progress=progress)
        with bar("Learned reach") as progress:
            self._priced(graph, block, progress)

    def open(self) -> EvalContext:
        """Open all parts; the graph is priced by the head."""
        opened = super().open()
        graph, _ = _with_reach(opened.graph)
        measure, graph = self._priced(graph, opened.benchmark.action_block)
        return replace(opened, graph=graph, extra_metadata={"head": measure.digest})

    def _priced(
        self, graph: FrameGraph, block: int, progress: Progress | None = None
    ) -> tuple[LearnedReach, FrameGraph]:
        measure = LearnedReach(load_head(self.head, graph.latents))
        key = f"{measure.digest} {graph.table.num_neighbours}"
        kept = Parts(self.head.with_suffix(".reach"), key)
        return measure, price_by_head(graph, measure, block, kept, progress)


def price_by_head(
    graph: FrameGraph,
    measure: LearnedReach,
    block: int,
    kept: Parts | None = None,
    progress: Progress | None = None,
) -> FrameGraph:
    """Return the graph with the same candidates and search, priced by a head.

    The floor is found as the model's is, on recorded frames one block apart, and every
    unit beyond it is charged as one more block. Decision: D41.

    Args:
        graph: A graph that is priced by the model's reach.
        measure: The head.
        block: Frames of an action block.
        kept: Where the distances are kept; found there, they are not measured again.
        progress: Called with (done, total) frames.
    """
    _, reach = _with_reach(graph)
    distances = measure_table(
        graph.latents,
        graph.table.frame,
        measure,
        workers=os.cpu_count() or 1,
        # Sums in another order could differ in the last bit.
        prepare=partial(torch.set_num_threads, 1),
        progress=progress,
        checkpoint=kept,
    )
    floor = fit_floor(graph.latents, measure, block, graph.pricing.quantile)
    priced = build_graph(
        graph.latents,
        replace(graph.table, reach=distances),
        graph.pricing,
        # The noise stays the model's: only the model's own measure asks for it.
        replace(reach, floor=floor, rate=float(block)),
        num_links=graph.num_neighbours,
    )
    return replace(priced, measure=measure)


def _with_reach(graph: FrameGraph | None) -> tuple[FrameGraph, ReachPricing]:
    if graph is None or graph.reach is None:
        raise BenchmarkError(
            "The study compares with the model's reach: metro build LATENTS "
            "--pricing reach --model MODEL --corpus CORPUS."
        )
    return graph, graph.reach
