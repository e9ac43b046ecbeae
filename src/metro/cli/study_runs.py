"""Verbs of studies that plan or measure: corpus size, micro planner, offline cost."""

from pathlib import Path
from typing import Annotated

import typer

from metro.cli import options
from metro.cli.root import require_worlds
from metro.cli.studies import show_study, study

MetroPlanBlocks = Annotated[
    int, typer.Option(help="h of metro, action blocks per plan.")
]
Known = Annotated[
    list[Path] | None,
    typer.Option(help="Rows of metro evaluate; what they have is not planned again."),
]


@study.command("corpus-size")
def corpus_size(
    benchmark: options.BenchmarkName,
    corpus: options.CorpusOption,
    model: options.Model,
    graph: options.RequiredGraph,
    output: options.RowsPath,
    share: Annotated[
        list[float] | None,
        typer.Option(
            help="Percent of the episodes; repeat it for several. Default: 1, 3, 10, "
            "100."
        ),
    ] = None,
    subset_seed: Annotated[
        int, typer.Option(min=0, help="Random seed for the choice of episodes.")
    ] = 0,
    goal_distance: options.Distance = 75,
    plan_blocks: MetroPlanBlocks = 1,
    waypoint_budget: options.WaypointBudget = None,
    step_budget: options.StepBudget = None,
    planner_seed: options.PlannerSeeds = None,
    queries: options.Queries = None,
    first: options.First = None,
    known: Known = None,
    batch: options.BatchSize = 25,
    workers: options.Workers = 1,
    device: options.Device = None,
    trust_pickle: options.TrustPickle = False,
    as_json: options.AsJson = False,
) -> None:
    """Plan with graphs of 1, 3, 10 and 100 % of the episodes, on the same queries.

    A smaller share is contained in every larger one. After an interruption, the same
    command resumes.
    """
    require_worlds("study corpus-size")
    from metro.cli.terminal import success_bar
    from metro.evaluation.context import EvalConfig
    from metro.studies.corpus_size.run_corpus_size import SHARES, CorpusSizeConfig, run
    from metro.studies.planning import PlanningConfig

    plan = PlanningConfig(
        EvalConfig(benchmark, corpus, model, graph, None, trust_pickle, device),
        output,
        goal_distance=goal_distance,
        plan_blocks=plan_blocks,
        waypoint_budget=waypoint_budget,
        step_budget=step_budget,
        planner_seeds=planner_seed or [7],
        queries=queries,
        first=first,
        known=known or [],
        batch=batch,
        workers=workers,
    )
    # typer may give an empty list for an option that was left out.
    rows = run(CorpusSizeConfig(plan, share or SHARES, subset_seed), success_bar)
    show_study("corpus-size", rows, as_json)


@study.command("micro-planner")
def micro_planner(
    benchmark: options.BenchmarkName,
    corpus: options.CorpusOption,
    model: options.Model,
    fine_tuned: Annotated[str, typer.Option(help="The model fine-tuned from MODEL.")],
    graph: options.RequiredGraph,
    output: options.RowsPath,
    fine_tuned_graph: Annotated[
        Path | None,
        typer.Option(help="Graph of the fine-tuned model, if its encoder changed."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="flat, metro or oracle; repeat it. Default: all three."),
    ] = None,
    goal_distance: options.Distance = 75,
    plan_blocks: MetroPlanBlocks = 1,
    flat_blocks: Annotated[int, typer.Option(help="h of flat.")] = 2,
    waypoint_budget: options.WaypointBudget = None,
    step_budget: options.StepBudget = None,
    planner_seed: options.PlannerSeeds = None,
    queries: options.Queries = None,
    first: options.First = None,
    known: Known = None,
    batch: options.BatchSize = 25,
    workers: options.Workers = 1,
    device: options.Device = None,
    trust_pickle: options.TrustPickle = False,
    as_json: options.AsJson = False,
) -> None:
    """Plan with a world model and with a fine-tuned one: flat, metro and oracle.

    After an interruption, the same command resumes.
    """
    require_worlds("study micro-planner")
    from metro.cli.terminal import success_bar
    from metro.evaluation.context import EvalConfig
    from metro.studies.micro_planner.run_micro_planner import MicroPlannerConfig, run
    from metro.studies.micro_planner.show_micro_planner import METHODS
    from metro.studies.planning import PlanningConfig

    plan = PlanningConfig(
        EvalConfig(benchmark, corpus, model, graph, None, trust_pickle, device),
        output,
        goal_distance=goal_distance,
        plan_blocks=plan_blocks,
        waypoint_budget=waypoint_budget,
        step_budget=step_budget,
        planner_seeds=planner_seed or [7],
        queries=queries,
        first=first,
        known=known or [],
        batch=batch,
        workers=workers,
    )
    changed = (fine_tuned, fine_tuned_graph, method or METHODS, flat_blocks)
    config = MicroPlannerConfig(plan, *changed)
    show_study("micro-planner", run(config, success_bar), as_json)


@study.command("offline-cost")
def offline_cost(
    benchmark: options.BenchmarkName,
    corpus: options.CorpusOption,
    model: options.Model,
    latents: Annotated[
        Path, typer.Option(help="Made by metro encode from corpus and model.")
    ],
    output: options.RowsPath,
    macro: Annotated[
        str | None,
        typer.Option(help="Macro model made by metro train-macro on these latents."),
    ] = None,
    waypoint_budget: Annotated[int, typer.Option(help="H of the graph, frames.")] = 8,
    threads: Annotated[
        int, typer.Option(min=1, help="Threads of encoder and neighbour table.")
    ] = 1,
    device: Annotated[
        str | None, typer.Option(help="Device of the encoder. Default: cpu.")
    ] = None,
    trust_pickle: options.TrustPickle = False,
    as_json: options.AsJson = False,
) -> None:
    """Measure encode, table and graph of a corpus, beside a macro model's training.

    What OUTPUT already has is not measured again.
    """
    require_worlds("study offline-cost")
    from metro.cli.terminal import spinner
    from metro.studies.offline_cost import OfflineCostConfig, run

    config = OfflineCostConfig(
        benchmark,
        corpus,
        model,
        latents,
        output,
        macro=macro,
        waypoint_budget=waypoint_budget,
        threads=threads,
        trust_pickle=trust_pickle,
        device=device,
    )
    with spinner("Measuring encode, table and graph"):
        rows = run(config)
    show_study("offline-cost", rows, as_json)
