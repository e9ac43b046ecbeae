"""The verb that measures sub-goals: residual."""

from pathlib import Path
from typing import Annotated

import typer

from metro.cli.options import (
    AsJson,
    BenchmarkName,
    Corpus,
    Distance,
    Graph,
    MacroSteps,
    Model,
    PlanBlocks,
    Queries,
    RowsPath,
    StepBudget,
    WaypointBudget,
    Workers,
)
from metro.cli.root import app, print_json, require_worlds
from metro.planners.methods.hi_lewm_c import HI_LEWM_C


@app.command()
def residual(
    benchmark: BenchmarkName,
    corpus: Corpus,
    model: Model,
    latents: Annotated[
        Path, typer.Option(help="Of the recording, by metro encode or metro build.")
    ],
    output: RowsPath,
    method: Annotated[
        str,
        typer.Option(
            help="hi-lewm, hi-lewm-c, hi-lewm-c-staged, metro; or a control: "
            "recorded, random."
        ),
    ] = HI_LEWM_C.name,
    budget: Annotated[
        list[str] | None,
        typer.Option(help="small (3 x 20 x 384 renders) or large (8 x 30 x 384)."),
    ] = None,
    count: Annotated[int, typer.Option(help="Latents to measure.")] = 20,
    graph: Graph = None,
    macro: Annotated[
        str | None,
        typer.Option(help="For the hi-lewm methods: made by metro train-macro."),
    ] = None,
    macro_steps: MacroSteps = None,
    plan_blocks: PlanBlocks = None,
    waypoint_budget: WaypointBudget = None,
    goal_distance: Distance = 75,
    num_queries: Annotated[
        int, typer.Option(help="Runs that sub-goals are taken from.")
    ] = 10,
    step_budget: StepBudget = None,
    query_file: Queries = None,
    sub_goals: Annotated[
        Path, typer.Option(help="Folder that keeps the sub-goals of such runs.")
    ] = Path("out/sub-goals"),
    seed: Annotated[int, typer.Option(min=0, help="Of the choice and the search.")] = 0,
    workers: Workers = 1,
    pictures: Annotated[
        Path | None, typer.Option(help="PNG of the nearest states to write.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure how far sub-goals are from any state that the world can show.

    Budgets may be repeated; the small one is then read off the large one's search.
    Interrupted, the same command goes on.
    """
    require_worlds("residual")
    from metro.cli.terminal import print_table, progress_bar
    from metro.errors import WorldError
    from metro.evaluation.context import EvalConfig
    from metro.studies.residual.figure import draw_pictures
    from metro.studies.residual.measure import SearchConfig
    from metro.studies.residual.run import measure_residuals
    from metro.studies.residual.section import COLUMNS, summarise_residuals
    from metro.studies.residual.sources import Asked, find_targets

    context = EvalConfig(benchmark, corpus, model, graph, macro)
    source = SearchConfig(benchmark, corpus, model, latents)
    asked = Asked(
        method,
        count,
        seed,
        goal_distance,
        num_queries,
        sub_goals,
        step_budget,
        query_file,
        plan_blocks,
        waypoint_budget,
        macro_steps,
    )
    with progress_bar(f"Running {method}") as progress:
        targets = find_targets(source, context, asked, progress=progress)
    with progress_bar(f"Residuals of {method}") as progress:
        rows = measure_residuals(
            source,
            targets,
            output,
            budgets=budget or ["small"],
            seed=seed,
            workers=workers,
            progress=progress,
        )
    if pictures is not None:
        draw_pictures(rows, source, context, asked, pictures)
    cells = summarise_residuals(rows)
    if not cells:
        raise WorldError(f"Every search failed; {output} says why: {rows[0]['error']}")
    if as_json:
        print_json([cell.to_json() for cell in cells])
    else:
        caption = f"{benchmark}, {cells[0].model}; gaps are of recorded frames"
        print_table(COLUMNS[2:], [cell.to_text()[2:] for cell in cells], caption)
