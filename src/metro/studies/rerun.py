"""``metro rerun``: the paper's cells with a model and recordings that are at hand."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from metro.analysis.paper import PaperResult, load_paper_results
from metro.benchmark import Benchmark, benchmarks_folder, load_benchmark
from metro.data.corpus import Corpus, open_corpus
from metro.errors import BenchmarkError
from metro.evaluation.context import EvalConfig
from metro.evaluation.prepare import prepare_queries
from metro.evaluation.queries import QuerySet, load_queries
from metro.evaluation.records import Setting
from metro.evaluation.run import evaluate
from metro.models.loading import load_frozen
from metro.planners.methods.registry import find_method
from metro.types import ProgressBar

_COUNT, _DRAW_SEED = 50, 0
_MACRO_STEPS = 2


@dataclass(frozen=True)
class Rerun:
    """What to run.

    Attributes:
        source: World, recording and model; the graph is made here.
        folder: For latents, graph, queries and rows.
        goal_distances: d, frames.
        planner_seeds: Of the micro planner.
        first: Only so many queries; None: all fifty.
        batch: Queries planned together.
        workers: Processes.
    """

    source: EvalConfig
    folder: Path
    goal_distances: Sequence[int] = (25, 50, 75)
    planner_seeds: Sequence[int] = (7, 8, 9)
    first: int | None = None
    batch: int = 25
    workers: int = 1

    @property
    def rows(self) -> Path:
        """Where rows are appended to."""
        return self.folder / "rows.jsonl"


def rerun(asked: Rerun, bar: ProgressBar) -> list[PaperResult]:
    """Encode, build the graph, and plan every cell of the paper; return the cells.

    What is in the folder already is not made again.

    Args:
        asked: What to run.
        bar: Draws the progress of one distance, given a title.

    Raises:
        BenchmarkError: If the folder is a file, or the paper has no cell for this
            model.
    """
    if asked.folder.is_file():
        raise BenchmarkError(f"{asked.folder} is a file. Give a folder for the rerun.")
    benchmark = load_benchmark(asked.source.benchmark)
    model = load_frozen(asked.source.model, trust_pickle=asked.source.trust_pickle)
    cells = [
        cell
        for cell in load_paper_results()
        if (cell.benchmark, cell.family) == (benchmark.name, model.family)
        and cell.goal_distance in asked.goal_distances
    ]
    chosen = {
        distance: _settings(cells, distance, asked) for distance in asked.goal_distances
    }
    if not any(chosen.values()):
        raise BenchmarkError(
            f"The paper has no cell of {model.family} on {benchmark.name} at d = "
            f"{', '.join(map(str, asked.goal_distances))}."
        )
    asked.folder.mkdir(parents=True, exist_ok=True)
    graph = asked.folder / f"{benchmark.name}-{model.family}.metro"
    with open_corpus(asked.source.corpus) as corpus:
        corpus.require(benchmark)
        budget = max(cell.waypoint_budget or 1 for cell in cells)
        corpus.build_graph(
            model,
            waypoint_budget=budget,
            cache=graph,
            device=asked.source.device,
            progress=bar,
        )
        queries = {
            distance: _queries(benchmark, corpus, distance, asked, bar)
            for distance, settings in chosen.items()
            if settings
        }
    source = asked.source.with_graph(graph)
    for distance, found in queries.items():
        with bar(f"d = {distance}, {len(chosen[distance])} runs") as progress:
            evaluate(
                source,
                chosen[distance],
                found,
                asked.rows,
                batch=asked.batch,
                workers=asked.workers,
                progress=progress,
            )
    return cells


def _settings(
    cells: Iterable[PaperResult], distance: int, asked: Rerun
) -> list[Setting]:
    """Return a setting for each (method, h, H) and seed, at its longest T.

    Smaller budgets are read off the same run. Cells whose h the paper does not tell
    cannot be run; hierarchical ones need a macro model.
    """
    longest: dict[tuple[str, int, int | None], int] = {}
    for cell in cells:
        if cell.goal_distance != distance:
            continue
        blocks = cell.plan_blocks
        method = find_method(cell.method)
        if method.needs_macro:
            has_macro = asked.source.macro is not None
            blocks = method.default_plan_blocks if has_macro else None
        if blocks is not None:
            key = (cell.method, blocks, cell.waypoint_budget)
            longest[key] = max(longest.get(key, 0), cell.step_budget)
    return [
        Setting(
            method,
            blocks,
            budget,
            steps,
            seed,
            _MACRO_STEPS if find_method(method).needs_macro else None,
        )
        for (method, blocks, budget), steps in longest.items()
        for seed in asked.planner_seeds
    ]


def _queries(
    benchmark: Benchmark, corpus: Corpus, distance: int, asked: Rerun, bar: ProgressBar
) -> QuerySet:
    """Return the benchmark's own queries if they are of this corpus, else new ones."""
    name = f"{benchmark.name}-d{distance}.csv"
    own = benchmarks_folder() / "queries" / name
    found = load_queries(own) if own.exists() else None
    if found is None or found.corpus != corpus.digest:
        found = prepare_queries(
            benchmark,
            corpus,
            asked.folder / name,
            goal_distance=distance,
            count=_COUNT,
            seed=_DRAW_SEED,
            bar=bar,
        )
    return found if asked.first is None else found.first(asked.first)
