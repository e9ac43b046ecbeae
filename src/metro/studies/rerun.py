"""Runs the paper's experiments with a model and a corpus of the user's own."""

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
class RerunConfig:
    """What to run: the options of ``metro rerun``; the graph is made by `run`."""

    source: EvalConfig
    folder: Path
    goal_distances: Sequence[int] = (25, 50, 75)
    planner_seeds: Sequence[int] = (7, 8, 9)
    first: int | None = None
    batch: int = 25
    workers: int = 1

    @property
    def rows(self) -> Path:
        """The file that rows are appended to."""
        return self.folder / "rows.jsonl"


def run(config: RerunConfig, bar: ProgressBar) -> list[PaperResult]:
    """Encode, build the graph, and plan all results of the paper; return the paper's.

    What is in the folder already is not made again.
    """
    if config.folder.is_file():
        raise BenchmarkError(f"{config.folder} is a file. Give a folder for the rerun.")
    source, distances = config.source, config.goal_distances
    benchmark = load_benchmark(source.benchmark)
    model = load_frozen(source.model, trust_pickle=source.trust_pickle)
    results = [
        result
        for result in load_paper_results()
        if (result.benchmark, result.family) == (benchmark.name, model.family)
        and result.goal_distance in distances
    ]
    settings = {one: _settings(results, one, config) for one in distances}
    if not any(settings.values()):
        raise BenchmarkError(
            f"The paper has no result of {model.family} on {benchmark.name} at d = "
            f"{', '.join(map(str, distances))}."
        )
    # Only now: a wrong request leaves no empty folder behind.
    config.folder.mkdir(parents=True, exist_ok=True)
    graph = config.folder / f"{benchmark.name}-{model.family}.metro"
    with open_corpus(source.corpus) as corpus:
        corpus.require(benchmark)
        corpus.build_graph(
            model,
            # Any H would do: the evaluation prices the same neighbour table for each.
            waypoint_budget=max(result.waypoint_budget or 1 for result in results),
            cache=graph,
            device=source.device,
            progress=bar,
        )
        # All before planning starts: a d without enough queries fails early.
        queries = {
            distance: _queries(benchmark, corpus, distance, config, bar)
            for distance in distances
            if settings[distance]
        }
    for distance, found in queries.items():
        with bar(f"d = {distance}, {len(settings[distance])} runs") as progress:
            evaluate(
                source.with_graph(graph),
                settings[distance],
                found,
                config.rows,
                batch=config.batch,
                workers=config.workers,
                progress=progress,
            )
    return results


def _settings(
    cells: Iterable[PaperResult], distance: int, config: RerunConfig
) -> list[Setting]:
    """Return a setting for each (method, h, H) and seed, at its longest T.

    Smaller budgets are read off the same run. Results whose h the paper does not give
    cannot be run; hierarchical ones need a macro model.
    """
    longest: dict[tuple[str, int, int | None], int] = {}
    for cell in cells:
        if cell.goal_distance != distance:
            continue
        blocks = cell.plan_blocks
        method = find_method(cell.method)
        if method.needs_macro:
            has_macro = config.source.macro is not None
            blocks = method.default_plan_blocks if has_macro else None
        if blocks is not None:
            key = (cell.method, blocks, cell.waypoint_budget)
            longest[key] = max(longest.get(key, 0), cell.step_budget)
    return [
        Setting(method, blocks, budget, steps, seed, macro_steps)
        for (method, blocks, budget), steps in longest.items()
        for macro_steps in [_MACRO_STEPS if find_method(method).needs_macro else None]
        for seed in config.planner_seeds
    ]


def _queries(
    benchmark: Benchmark,
    corpus: Corpus,
    distance: int,
    config: RerunConfig,
    bar: ProgressBar,
) -> QuerySet:
    """Return the benchmark's own queries if they are of this corpus, else new ones."""
    name = f"{benchmark.name}-d{distance}.csv"
    own = benchmarks_folder() / "queries" / name
    found = load_queries(own) if own.exists() else None
    # Queries name frames by number, and in another corpus those are other frames.
    if found is None or found.corpus != corpus.digest:
        found = prepare_queries(
            benchmark,
            corpus,
            config.folder / name,
            goal_distance=distance,
            count=_COUNT,
            seed=_DRAW_SEED,
            bar=bar,
        )
    return found if config.first is None else found.first(config.first)
