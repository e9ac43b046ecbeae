"""Plans with graphs of fewer and fewer episodes, on the same queries."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from metro.core.graph import FrameGraph, build_graph
from metro.core.neighbours import find_neighbours
from metro.core.pricing import PricingCurve
from metro.errors import BenchmarkError
from metro.evaluation.context import EvalConfig, EvalContext
from metro.evaluation.records import Record
from metro.studies.planning import PlanningConfig, plan_in_each
from metro.types import ProgressBar

SHARES = (1.0, 3.0, 10.0, 100.0)
"""Percent of the episodes, as in the paper."""
FEWEST = 2
"""Episodes of a graph: the query's own may be one of them and is held out."""


def run(
    plan: PlanningConfig,
    bar: ProgressBar,
    *,
    shares: Sequence[float] = SHARES,
    subset_seed: int = 0,
) -> list[Record]:
    """Plan every query with the graph of every share in percent; return all rows."""
    # The evaluation's own options: contexts may differ in their share alone.
    contexts = [
        SubsetConfig(**vars(plan.source), share=share, subset_seed=subset_seed)
        for share in shares
    ]
    settings, title = plan.metro_settings(), f"{len(contexts)} shares"
    return plan_in_each(contexts, settings, plan, bar=bar, title=title)


def choose_episodes(num_episodes: int, share: float, seed: int) -> NDArray[np.int64]:
    """Return the episodes of a share in percent, sorted.

    All episodes are put into one random order, and a share is its beginning: a smaller
    share is contained in every larger one. Paper: Sec. 6.3. Decision: D26.
    """
    if not 0 < share <= 100:
        raise BenchmarkError(f"A share must be in (0, 100] percent, got {share:g}.")
    # Rounded, not cut off: as near to the percent as whole episodes allow.
    count = round(num_episodes * share / 100)
    if count < FEWEST:
        raise BenchmarkError(
            f"{share:g} % of {num_episodes} episodes is {count}; a graph needs at "
            f"least {FEWEST}, because the query's own is held out. Use a larger "
            f"share or corpus."
        )
    order = np.random.default_rng(seed).permutation(num_episodes)
    # Sorted: the choice is random, the order of frames in the graph must not be.
    return np.sort(order[:count])


def subset_graph(whole: FrameGraph, episodes: NDArray[np.int64]) -> FrameGraph:
    """Return the graph of some episodes alone, with the whole graph's H, k and α.

    Pricing curve, neighbours and bridges are made from those episodes only. For all
    episodes the whole graph itself is returned. Decision: D26.
    """
    # The same object, so that rows at 100 % have the evaluation's graph digest.
    if len(episodes) == whole.latents.num_episodes:
        return whole
    latents = whole.latents.subset([int(episode) for episode in episodes])
    pricing = PricingCurve.fit(latents, whole.waypoint_budget, whole.pricing.quantile)
    # Not cut from the whole table: for a neighbour left out, the next one moves up.
    table = find_neighbours(latents, whole.num_neighbours)
    return build_graph(latents, table, pricing)


@dataclass(frozen=True)
class SubsetConfig(EvalConfig):
    """Where the parts are, and the graph's share of the episodes, in percent."""

    share: float = 100.0
    subset_seed: int = 0

    def open(self) -> EvalContext:
        """Open all parts, and build the graph of the share."""
        opened = super().open()
        whole = opened.graph
        try:
            if whole is None:
                raise BenchmarkError("The study needs a graph: metro build LATENTS.")
            number = whole.latents.num_episodes
            episodes = choose_episodes(number, self.share, self.subset_seed)
            graph = subset_graph(whole, episodes)
        # Even Ctrl-C: the files are open, and nobody else has the context to close it.
        except BaseException:
            opened.close()
            raise
        return replace(
            opened,
            graph=graph,
            # A query's ends may be in an episode that the graph does not have.
            corpus_latents=whole.latents,
            graph_episodes=episodes,
            extra_metadata={
                "share": self.share,
                "subset_seed": self.subset_seed,
                "episodes_used": len(episodes),
            },
        )
