"""The verb that measures sub-goals: residual."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from metro.cli import options
from metro.cli.root import PAPER, app, print_json, require_worlds
from metro.planners.methods.hi_lewm_c import HI_LEWM_C

LatentsOption = Annotated[
    Path, typer.Option(help="Latents of CORPUS, made by metro encode or metro build.")
]
Measured = Annotated[
    str,
    typer.Option(
        help="Whose sub-goals are measured: hi-lewm, hi-lewm-c, hi-lewm-c-staged or "
        "metro; or a control: recorded or random."
    ),
]
Budgets = Annotated[
    list[str] | None,
    typer.Option(help="small (3 x 20 x 384 renders) or large (8 x 30 x 384)."),
]
SubGoalFolder = Annotated[
    Path, typer.Option(help="Folder that keeps the sub-goals of such runs.")
]
PlanningDevice = Annotated[
    str | None,
    typer.Option(
        help="Device of the model. Default: the fastest for planning, cpu for the "
        "search."
    ),
]


@app.command(rich_help_panel=PAPER)
def residual(
    benchmark: options.BenchmarkName,
    corpus: options.CorpusOption,
    model: options.Model,
    latents: LatentsOption,
    output: options.RowsPath,
    method: Measured = HI_LEWM_C.name,
    budget: Budgets = None,
    count: Annotated[int, typer.Option(help="Number of latents to measure.")] = 20,
    graph: options.Graph = None,
    macro: options.Macro = None,
    macro_steps: options.MacroSteps = None,
    plan_blocks: options.PlanBlocks = None,
    waypoint_budget: options.WaypointBudget = None,
    goal_distance: options.Distance = 75,
    num_queries: Annotated[
        int, typer.Option(help="Number of runs that sub-goals are taken from.")
    ] = 10,
    step_budget: options.StepBudget = None,
    queries: options.Queries = None,
    sub_goals: SubGoalFolder = Path("out/sub-goals"),
    seed: options.Seed = 0,
    workers: options.Workers = 1,
    pictures: Annotated[
        Path | None, typer.Option(help="PNG of the nearest states to write.")
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
    _show(run(ResidualConfig(source, *wanted), progress_bar), output, as_json)


def _show(rows: Sequence[Any], output: Path, as_json: bool) -> None:
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
