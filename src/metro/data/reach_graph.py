"""A graph priced by reach: from latents, recorded actions and the world model."""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch

from metro.core.graph import FrameGraph, build_graph
from metro.core.latents import Latents
from metro.core.neighbours import DEFAULT_NEIGHBOURS, NeighbourTable
from metro.core.pricing import PricingCurve
from metro.core.reach import ReachPricing
from metro.data.reach_table import measure_table
from metro.models.action_stats import raw_actions, stats_for
from metro.models.adapter import as_world_model, known_digest
from metro.models.reach_measure import ModelReach, fit_reach
from metro.storage.made_from import Provenance
from metro.storage.parts import Parts
from metro.types import CorpusLike, ProgressBar, WorldModel

CANDIDATES = 32
"""Nearest frames of other episodes among which the cheapest are kept. Decision: D37."""


def build_reach_graph(  # noqa: PLR0913
    latents: Latents,
    table: NeighbourTable,
    pricing: PricingCurve,
    corpus: CorpusLike,
    model: WorldModel,
    *,
    num_links: int = DEFAULT_NEIGHBOURS,
    parts: str | Path | None = None,
    progress: ProgressBar | None = None,
) -> FrameGraph:
    """Return the graph whose bridges are charged for what the model cannot reach.

    Decision: D36, D37.

    Args:
        latents: The corpus as the model encodes it.
        table: Its neighbours, `CANDIDATES` for every frame.
        pricing: Its curve.
        corpus: The recording, for its actions.
        model: The world model that the latents are from.
        num_links: k, bridges kept per frame.
        parts: Folder where finished rows are kept, so that an interrupted call resumes.
        progress: Shows a progress bar.
    """
    model = as_world_model(model)
    reach = fit_corpus_reach(latents, corpus, model, quantile=pricing.quantile)
    measure = ModelReach(model, reach.noise)
    kept = None
    if parts is not None:
        kept = Parts(parts, f"{latents.digest} {table.num_neighbours} {reach.noise}")
    with _bar(progress) as report:
        distances = measure_table(
            latents,
            table.frame,
            measure,
            workers=os.cpu_count() or 1,
            # Sums in another order could differ in the last bit.
            prepare=partial(torch.set_num_threads, 1),
            progress=report,
            checkpoint=kept,
        )
    if kept is not None:
        kept.remove()
    measured = replace(table, reach=distances)
    graph = build_graph(latents, measured, pricing, reach, num_links=num_links)
    return replace(graph, measure=measure)


def fit_corpus_reach(
    latents: Latents, corpus: CorpusLike, model: WorldModel, *, quantile: float
) -> ReachPricing:
    """Return what jumps are charged, from a recording and the model of its latents."""
    known = as_world_model(model)
    made = Provenance.of(latents)
    if made.model.digest is not None:
        made.require(model=known_digest(known), corpus=corpus.digest)
    stats = stats_for(known, corpus)
    return fit_reach(latents, raw_actions(corpus), known, stats, quantile=quantile)


def _bar(
    bar: ProgressBar | None,
) -> AbstractContextManager[Callable[..., None] | None]:
    return nullcontext() if bar is None else bar("Reach")
