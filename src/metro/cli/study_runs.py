"""Studies that plan or measure: corpus size, micro planner, offline cost."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from metro.cli.app import require_worlds
from metro.cli.evaluate import (
    Batch,
    Distance,
    First,
    Model,
    QueryPath,
    Recording,
    RowsPath,
)
from metro.cli.evaluate import Workers as NumWorkers
from metro.cli.options import AsJson
from metro.cli.studies import show_study, study
from metro.cli.worlds import BenchmarkName

GraphPath = Annotated[Path, typer.Option(help="Made by metro build, of any H.")]
PlanBlocks = Annotated[int, typer.Option(help="h of metro.")]
WaypointBudget = Annotated[
    int | None, typer.Option(help="H, frames; the graph's if not given.")
]
StepBudget = Annotated[
    int | None, typer.Option(help="T, environment steps; 2 d if not given.")
]
PlannerSeeds = Annotated[
    list[int] | None, typer.Option(min=0, help="Of the micro planner; may be repeated.")
]
Known = Annotated[
    list[Path] | None,
    typer.Option(help="Rows of metro evaluate; what they answer is not planned again."),
]


@study.command("corpus-size")
def corpus_size(
    benchmark: BenchmarkName,
    corpus: Recording,
    model: Model,
    graph: GraphPath,
    output: RowsPath,
    share: Annotated[
        list[float] | None,
        typer.Option(help="Percent of the episodes; may be repeated. 1, 3, 10, 100."),
    ] = None,
    subset_seed: Annotated[int, typer.Option(min=0, help="Of which episodes.")] = 0,
    goal_distance: Distance = 75,
    plan_blocks: PlanBlocks = 1,
    waypoint_budget: WaypointBudget = None,
    step_budget: StepBudget = None,
    planner_seed: PlannerSeeds = None,
    query_file: QueryPath = None,
    first: First = None,
    known: Known = None,
    batch: Batch = 25,
    workers: NumWorkers = 1,
    as_json: AsJson = False,
) -> None:
    """Plan with graphs of 1, 3, 10 and 100 % of the episodes, on the same queries.

    A smaller share is contained in every larger one. Interrupted, the same command
    goes on.
    """
    require_worlds("study corpus-size")
    from metro.cli.terminal import success_bar
    from metro.evaluation.settings import choose_settings, find_queries
    from metro.studies.corpus_size.run import PartSource, run_corpus_size
    from metro.studies.corpus_size.section import SHARES

    asked = find_queries(benchmark, goal_distance, query_file, first)
    sources = [
        PartSource(benchmark, corpus, model, graph, share=one, subset_seed=subset_seed)
        for one in share or SHARES
    ]
    settings = choose_settings(
        sources[0],
        "metro",
        plan_blocks=[plan_blocks],
        waypoint_budgets=None if waypoint_budget is None else [waypoint_budget],
        step_budget=2 * goal_distance if step_budget is None else step_budget,
        planner_seeds=planner_seed or [7],
    )
    with success_bar(f"{len(sources)} shares") as progress:
        rows = run_corpus_size(
            sources,
            settings,
            asked,
            output,
            known=_rows(known),
            batch=batch,
            workers=workers,
            progress=progress,
        )
    show_study("corpus-size", rows, as_json)


@study.command("micro-planner")
def micro_planner(
    benchmark: BenchmarkName,
    corpus: Recording,
    model: Model,
    fine_tuned: Annotated[str, typer.Option(help="The model trained on from MODEL.")],
    graph: GraphPath,
    output: RowsPath,
    fine_tuned_graph: Annotated[
        Path | None, typer.Option(help="Of the fine-tuned one, if its encoder changed.")
    ] = None,
    method: Annotated[
        list[str] | None, typer.Option(help="flat, metro, oracle; all if not given.")
    ] = None,
    goal_distance: Distance = 75,
    plan_blocks: PlanBlocks = 1,
    flat_blocks: Annotated[int, typer.Option(help="h of flat.")] = 2,
    waypoint_budget: WaypointBudget = None,
    step_budget: StepBudget = None,
    planner_seed: PlannerSeeds = None,
    query_file: QueryPath = None,
    first: First = None,
    known: Known = None,
    batch: Batch = 25,
    workers: NumWorkers = 1,
    as_json: AsJson = False,
) -> None:
    """Plan with a world model and with a fine-tuned one: flat, metro and oracle.

    Interrupted, the same command goes on.
    """
    require_worlds("study micro-planner")
    from metro.cli.terminal import success_bar
    from metro.evaluation.settings import choose_settings, find_queries
    from metro.studies.micro_planner.run import (
        ModelSource,
        choose_methods,
        run_micro_planner,
        settings_of,
    )

    asked = find_queries(benchmark, goal_distance, query_file, first)
    base = ModelSource(benchmark, corpus, model, graph, base=model)
    tuned = ModelSource(
        benchmark,
        corpus,
        fine_tuned,
        fine_tuned_graph or graph,
        base=model,
        own_graph=fine_tuned_graph is not None,
    )
    chosen = choose_settings(
        base,
        "metro",
        plan_blocks=[plan_blocks],
        waypoint_budgets=None if waypoint_budget is None else [waypoint_budget],
        step_budget=2 * goal_distance if step_budget is None else step_budget,
        planner_seeds=planner_seed or [7],
    )
    methods = choose_methods(method)
    settings = [
        one for metro in chosen for one in settings_of(metro, flat_blocks, methods)
    ]
    with success_bar(f"{', '.join(methods)}, two models") as progress:
        rows = run_micro_planner(
            base,
            tuned,
            settings,
            asked,
            output,
            known=_rows(known),
            batch=batch,
            workers=workers,
            progress=progress,
        )
    show_study("micro-planner", rows, as_json)


@study.command("offline-cost")
def offline_cost(
    benchmark: BenchmarkName,
    corpus: Recording,
    model: Model,
    latents: Annotated[Path, typer.Option(help="Made by metro encode from both.")],
    output: RowsPath,
    macro: Annotated[
        str | None, typer.Option(help="Made by metro train-macro on these latents.")
    ] = None,
    waypoint_budget: Annotated[int, typer.Option(help="H of the graph, frames.")] = 8,
    threads: Annotated[
        int, typer.Option(min=1, help="Of encoder and neighbour table.")
    ] = 1,
    as_json: AsJson = False,
) -> None:
    """Measure encode, table and graph of a corpus, beside a macro model's training.

    What OUTPUT has already is not measured again.
    """
    require_worlds("study offline-cost")
    from metro.benchmark import load_benchmark
    from metro.cli.terminal import spinner
    from metro.data.corpus import open_corpus
    from metro.evaluation.records import append_records, read_records
    from metro.models.loading import load_model
    from metro.storage.readers import read_latents
    from metro.studies.offline_cost.run import (
        Subject,
        describe_cost,
        measure_row,
    )
    from metro.studies.offline_cost.section import question_of

    with open_corpus(corpus) as recording:
        recording.require(load_benchmark(benchmark))
        subject = Subject(recording, load_model(model), read_latents(latents))
        told = describe_cost(
            subject, macro, waypoint_budget=waypoint_budget, threads=threads
        )
        done = {question_of(row): row for row in read_records(output)}
        if question_of(told) not in done:
            with spinner("Measuring encode, table and graph"):
                done[question_of(told)] = measure_row(subject, told)
            append_records([done[question_of(told)]], output)
    show_study("offline-cost", [done[question_of(told)]], as_json)


def _rows(files: Sequence[Path] | None) -> list[Any]:
    from metro.analysis.episode_results import load_records

    return load_records(files or [])
