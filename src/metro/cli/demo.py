"""``metro demo``: record, encode, build and plan in a real environment, in minutes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import typer
from rich.console import Console

from metro.analysis.episode_results import PLANNING
from metro.analysis.statistics import wilson
from metro.benchmark import benchmark_names, load_benchmark
from metro.cli.terminal import print_inspection, print_journey, progress_bar, scoreboard
from metro.core.inspect import inspect_graph
from metro.core.itinerary import path_segments
from metro.data.collect.record import record
from metro.data.corpus import Corpus, open_corpus
from metro.errors import BenchmarkError
from metro.evaluation.context import EvalContext
from metro.evaluation.prepare import prepare_queries
from metro.evaluation.queries import Query, QuerySet
from metro.evaluation.records import Record, Setting
from metro.evaluation.run import evaluate
from metro.models.frozen import FrozenModel
from metro.models.loading import load_frozen
from metro.planners.methods.flat import FLAT
from metro.planners.methods.metro import METRO
from metro.report.drawing.rollouts import (
    draw_map,
    draw_rollouts,
    record_rollout,
    render_map,
    write_rollout_video,
)

# The farthest goals of the paper, where sub-goals matter most.
_DISTANCE = 75
_SEED = 7
# Small, so that the table moves while one watches.
_BATCH = 5


@dataclass(frozen=True)
class DemoPlan:
    """What the demo of one benchmark uses, from the ``demo`` table of its TOML."""

    model: str
    recipe: str
    episodes: int
    plan_blocks: int
    waypoint_budget: int
    is_default: bool = False


def demo_plans() -> dict[str, DemoPlan]:
    """Return the plan of every benchmark that has a demo."""
    tables = {name: load_benchmark(name).demo for name in benchmark_names()}
    return {name: DemoPlan(**table) for name, table in tables.items() if table}


def run_demo(
    benchmark: str | None,
    folder: Path,
    *,
    episodes: int | None,
    queries: int,
    seed: int,
) -> None:
    """Do everything from the recording to the video; reuse what is in the folder."""
    plans = demo_plans()
    if benchmark is None:
        benchmark = next(name for name, plan in plans.items() if plan.is_default)
    if benchmark not in plans:
        raise BenchmarkError(
            f"There is no demo of {benchmark!r}. There are {', '.join(plans)}."
        )
    plan = plans[benchmark]
    folder.mkdir(parents=True, exist_ok=True)
    model, path = load_frozen(plan.model), folder / f"{benchmark}.metro"
    # Both numbers are in the name: another choice must not reuse these queries.
    query_file = folder / f"{benchmark}-{queries}-{seed}.csv"
    episodes = episodes or plan.episodes
    with _recording(benchmark, folder, model, episodes, seed) as corpus:
        graph = corpus.build_graph(
            model,
            waypoint_budget=plan.waypoint_budget,
            cache=path,
            progress=progress_bar,
        )
        print_inspection(inspect_graph(graph), str(path))
        query_set = prepare_queries(
            load_benchmark(benchmark),
            corpus,
            query_file,
            goal_distance=_DISTANCE,
            count=queries,
            seed=seed,
            bar=progress_bar,
        )
        with EvalContext(load_benchmark(benchmark), corpus, model, graph) as context:
            settings = _settings(plan)
            results = _compare(context, settings, query_set, folder)
            query = _instructive_query(query_set, results)
            ends = _show(context, settings, query, folder)
    _suggest(path, str(corpus.name), query_file, ends)


def _settings(plan: DemoPlan) -> dict[str, Setting]:
    """Return plain CEM with the paper's plan length for this distance, and metro."""
    far, budget = _DISTANCE // 5, 2 * _DISTANCE
    return {
        f"plain CEM, h = {far}": Setting(FLAT.name, far, None, budget, _SEED),
        f"metro, h = {plan.plan_blocks}, H = {plan.waypoint_budget}": Setting(
            METRO.name, plan.plan_blocks, plan.waypoint_budget, budget, _SEED
        ),
    }


def _recording(
    benchmark: str, folder: Path, model: FrozenModel, episodes: int, seed: int
) -> Corpus:
    path = folder / f"{benchmark}-{episodes}-{seed}.h5"
    if not path.exists():
        with progress_bar(f"Recording {episodes} episodes") as progress:
            record(
                load_benchmark(benchmark),
                path,
                episodes=episodes,
                seed=seed,
                recipe=demo_plans()[benchmark].recipe,
                image_size=model.image_size,
                rendering=model.rendering,
                workers=2,
                progress=progress,
            )
    return open_corpus(path)


def _compare(
    context: EvalContext, settings: dict[str, Setting], queries: QuerySet, folder: Path
) -> dict[str, list[Record]]:
    """Plan all queries both ways, in a table that fills; return the rows."""
    results: dict[str, list[Record]] = {}
    rows = folder / "rows.jsonl"
    Console().print(
        f"\n{len(queries)} queries, {_DISTANCE} frames apart, their own episodes held "
        f"out, {2 * _DISTANCE} frames at most:"
    )
    with scoreboard(list(settings)) as show:
        for name, setting in settings.items():
            for end in range(_BATCH, len(queries) + _BATCH, _BATCH):
                # Ever longer beginnings: rows that are there are not planned again.
                part = queries.first(min(end, len(queries)))
                results[name] = evaluate(context, setting, part, rows, batch=_BATCH)
                show(name, _score(results[name], len(queries)))
    return results


def _score(rows: list[Record], total: int) -> list[str]:
    """Return what the table says of one planner."""
    solved = sum(row["frames_to_success"] is not None for row in rows)
    low, high = wilson(solved, len(rows))
    spent = [sum(row["seconds"][phase] for phase in PLANNING) for row in rows]
    return [
        f"{len(rows)} of {total}",
        f"{solved / len(rows):.0%}",
        f"{low:.0%} to {high:.0%}",
        f"{sum(spent) / len(spent):.2f}",
    ]


def _instructive_query(queries: QuerySet, results: dict[str, list[Record]]) -> Query:
    """Return the first query that only one planner solved, else the first."""
    for query, *rows in zip(queries, *results.values(), strict=True):
        if len({row["frames_to_success"] is None for row in rows}) > 1:
            return query
    return queries.queries[0]


def _show(
    context: EvalContext, settings: dict[str, Setting], query: Query, folder: Path
) -> tuple[int, int]:
    """Print the route of one query, draw what each planner did; return its frames."""
    name, corpus = context.benchmark.name, context.corpus
    start, goal = (
        context.frame_of(query.episode, step) for step in (query.start, query.goal)
    )
    budget = demo_plans()[name].waypoint_budget
    segments = path_segments(context.routes_for(budget, query)[0], start)
    Console().print(
        f"\nOne of them, from frame {start} to frame {goal}, episode {query.episode} "
        f"held out:"
    )
    graph = context.graph_for(budget)
    print_journey(graph.latents, start, goal, segments, held_out=query.episode)
    rollouts = [record_rollout(context, *item, query) for item in settings.items()]
    picture, video = folder / f"{name}.png", folder / f"{name}.gif"
    shown: Any = corpus.frames(query.episode)[query.goal]
    column = context.benchmark.map_column
    if column is not None:
        background = render_map(context.benchmark, corpus.row(start))
        route = (corpus.column(column), segments, goal)
        draw_map(background, *route, rollouts, picture)
    else:
        draw_rollouts(rollouts, shown, picture)
    write_rollout_video(rollouts, shown, video)
    Console().print(f"\n{picture}: what each planner did. {video}: the same, moving.")
    return start, goal


def _suggest(graph: Path, corpus: str, queries: Path, ends: tuple[int, int]) -> None:
    """Print commands that a user may try next with what the demo made."""
    (start, goal), folder, name = ends, graph.parent, graph.stem
    rows = folder / "rows.jsonl"
    commands = (
        f"metro route {graph} --from {start} --to {goal} --corpus {corpus} "
        f"--storyboard {folder / 'storyboard.png'}",
        f"metro evaluate {name} --method oracle --corpus {corpus} "
        f"--model {demo_plans()[name].model} --queries {queries} "
        f"--goal-distance {_DISTANCE} -o {rows}",
        f"metro report {rows} -o {folder / 'report'}",
    )
    typer.echo("\n".join(["", "Try next:", *(f"  {command}" for command in commands)]))
