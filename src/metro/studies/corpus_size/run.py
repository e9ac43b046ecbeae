"""Metro with graphs of fewer and fewer episodes, on the same queries."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metro.core.graph import FrameGraph, build_graph
from metro.core.neighbours import find_neighbours
from metro.core.pricing import PricingCurve
from metro.errors import BenchmarkError
from metro.evaluation.context import EvalConfig, EvalContext
from metro.evaluation.grid import evaluate_grid
from metro.evaluation.queries import Query, QuerySet
from metro.evaluation.records import Setting
from metro.evaluation.run import Records, SuccessProgress
from metro.studies.corpus_size.section import choose_episodes
from metro.studies.reuse import adopt_rows
from metro.types import Vector


@dataclass(frozen=True)
class PartSource(EvalConfig):
    """Where the parts are, and which share of the episodes the graph is to have.

    Attributes:
        share: Percent of the episodes.
        subset_seed: Of the order that shares are the beginning of.
    """

    share: float = 100.0
    subset_seed: int = 0

    def open(self) -> "PartContext":
        """Open all of them, with the graph of the share made anew."""
        opened = super().open()
        whole = opened.graph
        try:
            if whole is None:
                raise BenchmarkError("The study needs a graph: metro build LATENTS.")
            number = whole.latents.num_episodes
            episodes = choose_episodes(number, self.share, self.subset_seed)
            graph = part_of(whole, episodes)
        except BaseException:
            opened.close()
            raise
        return PartContext(
            opened.benchmark,
            opened.corpus,
            opened.model,
            graph,
            whole=whole,
            episodes=episodes,
            part=(self.share, self.subset_seed),
        )


def part_of(whole: FrameGraph, episodes: NDArray[np.int64]) -> FrameGraph:
    """Return the graph of some episodes alone, with the whole one's H, k and α.

    Pricing curve, neighbours and bridges are made from those episodes; of all of them
    the whole graph is returned. Decision: D26.
    """
    if len(episodes) == whole.latents.num_episodes:
        return whole
    latents = whole.latents.subset([int(episode) for episode in episodes])
    pricing = PricingCurve.fit(latents, whole.waypoint_budget, whole.pricing.quantile)
    table = find_neighbours(latents, whole.num_neighbours)
    return build_graph(latents, table, pricing)


@dataclass
class PartContext(EvalContext):
    """A context whose graph has some of the episodes, by other numbers than the corpus.

    Attributes:
        whole: The graph of all episodes: starts and goals have their latents there.
        episodes: Of the corpus, sorted; the graph's episode i is ``episodes[i]``.
        part: The share in percent, and the seed that chose them.
    """

    whole: FrameGraph | None = None
    episodes: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, np.int64))
    part: tuple[float, int] = (100.0, 0)

    def ends_of(self, query: Query) -> tuple[Vector, Vector]:
        """Return the latents ``[D]`` of a query's start and goal, from the whole."""
        if self.whole is None:
            raise BenchmarkError("There is no graph: metro build LATENTS.")
        first, last = (
            self.whole.latents.z[self.frame_of(query.episode, step)]
            for step in (query.start, query.goal)
        )
        return first, last

    def held_out(self, query: Query) -> int | None:
        """Return the query's episode by the graph's number; None: it is not there."""
        place = int(np.searchsorted(self.episodes, query.episode))
        found = place < len(self.episodes) and self.episodes[place] == query.episode
        return place if found else None

    def remarks(self) -> dict[str, Any]:
        """Return the share, its seed, and how many episodes that is."""
        share, seed = self.part
        used = len(self.episodes)
        return {"share": share, "subset_seed": seed, "episodes_used": used}


def run_corpus_size(  # noqa: PLR0913  (one argument a setting, as the verb has them)
    sources: Sequence[PartSource],
    settings: Sequence[Setting],
    queries: QuerySet,
    path: Path,
    *,
    known: Sequence[dict[str, Any]] = (),
    batch: int = 25,
    workers: int = 1,
    progress: SuccessProgress | None = None,
) -> Records:
    """Plan every query with the graph of every share; return all rows.

    Records that the file already has, or that ``metro evaluate`` wrote, are not
    planned again. All shares are looked at
    before the first is run, so that a wrong one costs nothing.
    """
    rows: Records = []
    for source in sources:
        with source.open() as context:
            for setting in settings:
                context.check(setting, queries)
    for number, source in enumerate(sources):
        adopt_rows(source, settings, queries, known, path)
        rows += evaluate_grid(
            source,
            settings,
            queries,
            path,
            batch=batch,
            workers=workers,
            progress=_continued(progress, rows, len(sources) - number),
        )
    return rows


def _continued(
    progress: SuccessProgress | None, rows: Records, left: int
) -> SuccessProgress | None:
    """Return progress over all shares, from that over one; ``left`` are to come."""
    if progress is None:
        return None
    before = len(rows)
    solved_before = sum(row["frames_to_success"] is not None for row in rows)

    def report(done: int, total: int, solved: int) -> None:
        progress(before + done, before + left * total, solved_before + solved)

    return report
