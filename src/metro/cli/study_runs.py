"""Verbs of studies that plan: corpus size, micro planner, learned reach, residual."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from metro.cli import options
from metro.cli.options import option
from metro.cli.root import PAPER, app, print_json, require_worlds
from metro.cli.studies import show_study, study
from metro.planners.methods.hi_lewm_c import HI_LEWM_C

MetroPlanBlocks = Annotated[int, option("h of metro, action blocks per plan.")]
Known = Annotated[
    list[Path] | None,
    option("Rows of metro evaluate; what they have is not planned again."),
]


LatentsOption = Annotated[
    Path, option("Latents of CORPUS, made by metro encode or metro build.")
]
Measured = Annotated[
    str,
    option(
        "Whose sub-goals are measured: hi-lewm, hi-lewm-c, hi-lewm-c-staged or "
        "metro; or a control: recorded or random."
    ),
]
Budgets = Annotated[
    list[str] | None, option("small (3 x 20 x 384 renders) or large (8 x 30 x 384).")
]
SubGoalFolder = Annotated[Path, option("Folder that keeps the sub-goals of such runs.")]
PlanningDevice = Annotated[
    str | None,
    option(
        "Device of the model. Default: the fastest for planning, cpu for the search."
    ),
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
        option(
            "Percent of the episodes; repeat it for several. Default: 1, 3, 10, 100."
        ),
    ] = None,
    subset_seed: Annotated[
        int, option("Random seed for the choice of episodes.", least=0)
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
    from metro.cli.terminal import progress_bar
    from metro.evaluation.context import EvalConfig
    from metro.studies.corpus_size.run_corpus_size import SHARES, run
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
    shares = share or SHARES
    rows = run(plan, progress_bar, shares=shares, subset_seed=subset_seed)
    show_study("corpus-size", rows, as_json)


@study.command("micro-planner")
def micro_planner(
    benchmark: options.BenchmarkName,
    corpus: options.CorpusOption,
    model: options.Model,
    fine_tuned: Annotated[
        str, options.model_option("The model fine-tuned from MODEL.")
    ],
    graph: options.RequiredGraph,
    output: options.RowsPath,
    fine_tuned_graph: Annotated[
        Path | None, option("Graph of the fine-tuned model, if its encoder changed.")
    ] = None,
    method: Annotated[
        list[str] | None,
        option("flat, metro or oracle; repeat it. Default: all three."),
    ] = None,
    goal_distance: options.Distance = 75,
    plan_blocks: MetroPlanBlocks = 1,
    flat_blocks: Annotated[int, option("h of flat.")] = 2,
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
    from metro.cli.terminal import progress_bar
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
    show_study("micro-planner", run(config, progress_bar), as_json)


@study.command("learned-reach")
def learned_reach(
    benchmark: options.BenchmarkName,
    corpus: options.CorpusOption,
    model: options.Model,
    graph: options.RequiredGraph,
    output: options.RowsPath,
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
    as_json: options.AsJson = False,
) -> None:
    """Plan by the model's reach and by a head trained for it; the graph needs reach.

    The head is trained once and kept beside the rows. After an interruption, the same
    command resumes.
    """
    require_worlds("study learned-reach")
    from metro.cli.terminal import progress_bar
    from metro.evaluation.context import EvalConfig
    from metro.studies.learned_reach.run_learned_reach import run
    from metro.studies.planning import PlanningConfig

    plan = PlanningConfig(
        EvalConfig(benchmark, corpus, model, graph),
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
    show_study("learned-reach", run(plan, progress_bar), as_json)


@app.command(rich_help_panel=PAPER)
def residual(
    benchmark: options.BenchmarkName,
    corpus: options.CorpusOption,
    model: options.Model,
    latents: LatentsOption,
    output: options.RowsPath,
    method: Measured = HI_LEWM_C.name,
    budget: Budgets = None,
    count: Annotated[int, option("Number of latents to measure.")] = 20,
    graph: options.Graph = None,
    macro: options.Macro = None,
    macro_steps: options.MacroSteps = None,
    plan_blocks: options.PlanBlocks = None,
    waypoint_budget: options.WaypointBudget = None,
    goal_distance: options.Distance = 75,
    num_queries: Annotated[
        int, option("Number of runs that sub-goals are taken from.")
    ] = 10,
    step_budget: options.StepBudget = None,
    queries: options.Queries = None,
    sub_goals: SubGoalFolder = Path("out/sub-goals"),
    seed: options.Seed = 0,
    workers: options.Workers = 1,
    pictures: Annotated[
        Path | None, option("PNG of the nearest states to write.")
    ] = None,
    device: PlanningDevice = None,
    trust_pickle: options.TrustPickle = False,
    as_json: options.AsJson = False,
) -> None:
    """Measure how far sub-goals are from any state that the environment can show.

    Budgets may be repeated; the small one is then read off the large one's search.
    After an interruption, the same command resumes.
    """
    require_worlds("residual")
    from metro.cli.terminal import progress_bar
    from metro.evaluation.context import EvalConfig
    from metro.studies.residual.run_residual import ResidualConfig, run
    from metro.studies.residual.targets import TargetConfig

    source = EvalConfig(benchmark, corpus, model, graph, macro, trust_pickle, device)
    targets = TargetConfig(
        method,
        count,
        seed=seed,
        goal_distance=goal_distance,
        num_queries=num_queries,
        folder=sub_goals,
        step_budget=step_budget,
        queries=queries,
        plan_blocks=plan_blocks,
        waypoint_budget=waypoint_budget,
        macro_steps=macro_steps,
    )
    wanted = (latents, output, targets, budget or ["small"], workers, pictures)
    _show_residuals(run(ResidualConfig(source, *wanted), progress_bar), output, as_json)


def _show_residuals(rows: Sequence[Any], output: Path, as_json: bool) -> None:
    from metro.cli.terminal import print_table
    from metro.errors import WorldError
    from metro.studies.residual.show_residual import COLUMNS, summarise_residuals

    results = summarise_residuals(rows)
    # An empty table would look like a success.
    if not results:
        raise WorldError(f"Every search failed; {output} says why: {rows[0]['error']}")
    if as_json:
        print_json([result.to_json() for result in results])
        return
    # One benchmark and model per command: the caption names them, not every line.
    first = results[0]
    caption = f"{first.benchmark}, {first.model}; gaps are of recorded frames"
    print_table(COLUMNS[2:], [result.to_text()[2:] for result in results], caption)
