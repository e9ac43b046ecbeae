"""Verbs that plan queries and measure success: queries, evaluate, sweep."""

from pathlib import Path
from typing import Annotated

import typer

from metro.cli.app import app, print_json, require_worlds
from metro.cli.options import AsJson, Force
from metro.cli.worlds import BenchmarkName

Recording = Annotated[str, typer.Option(help="Recording that queries are taken from.")]
Model = Annotated[
    str, typer.Option(help="A shipped model's name, a file, a folder or a repository.")
]
RowsPath = Annotated[
    Path, typer.Option("--output", "-o", help="Rows (.jsonl) to append to.")
]
Graph = Annotated[
    Path | None,
    typer.Option(help="For metro and committed: made by metro build, of any H."),
]
MacroSteps = Annotated[
    int | None,
    typer.Option(help="h_h of the hi-lewm methods; 1 if not given, 2 for staged."),
]
PlanBlocks = Annotated[
    int | None,
    typer.Option(help="h, blocks of a micro plan; 1 if not given, 2 for hi-lewm."),
]
WaypointBudget = Annotated[
    int | None, typer.Option(help="H, frames; the graph's if not given.")
]
Distance = Annotated[int, typer.Option(help="d, frames to the goal.")]
StepBudget = Annotated[
    int | None, typer.Option(help="T, environment steps; 2 d if not given.")
]
QueryPath = Annotated[
    Path | None,
    typer.Option("--queries", help="CSV by metro queries; the benchmark's if absent."),
]
First = Annotated[
    int | None, typer.Option(help="Only so many queries of the file, from its top.")
]
Batch = Annotated[int, typer.Option(help="Queries planned together.")]
Workers = Annotated[int, typer.Option(help="Processes; the rows are the same.")]
TrustPickle = Annotated[
    bool,
    typer.Option("--trust-pickle", help="Load a pickled model: it can run code."),
]
Device = Annotated[
    str | None, typer.Option(help="cpu, cuda, mps; the fastest if not given.")
]


@app.command()
def queries(
    benchmark: BenchmarkName,
    corpus: Recording,
    output: Annotated[Path, typer.Option("--output", "-o", help="CSV to write.")],
    goal_distance: Distance = 25,
    count: Annotated[int, typer.Option(help="How many.")] = 50,
    seed: Annotated[int, typer.Option(min=0, help="Of the choice.")] = 0,
    force: Force = False,
) -> None:
    """Draw queries from a recording, and look at each in its world.

    Starts that already meet their goal are flagged; how soon the recording itself gets
    there is noted.
    """
    require_worlds("queries")
    from metro.benchmark import load_benchmark
    from metro.cli.terminal import progress_bar
    from metro.data.corpus import open_corpus
    from metro.errors import BenchmarkError
    from metro.evaluation.queries import save_queries
    from metro.evaluation.settings import draw_queries

    if output.exists() and not force:
        raise BenchmarkError(f"{output} is there already. Use --force to replace it.")
    with (
        open_corpus(corpus) as recording,
        progress_bar("Looking at queries") as progress,
    ):
        drawn = draw_queries(
            load_benchmark(benchmark),
            recording,
            goal_distance=goal_distance,
            count=count,
            seed=seed,
            progress=progress,
        )
        output.parent.mkdir(parents=True, exist_ok=True)
        save_queries(drawn, output, corpus=recording.digest)
    solved = sum(bool(query.is_presolved) for query in drawn)
    typer.echo(f"{output}: {len(drawn)} queries. Starts already solved: {solved}.")


@app.command()
def evaluate(
    benchmark: BenchmarkName,
    corpus: Recording,
    model: Model,
    output: RowsPath,
    method: Annotated[
        str,
        typer.Option(
            help="metro, flat, oracle, committed, waypoints, replay, random, stay, "
            "hi-lewm, hi-lewm-c or hi-lewm-c-staged."
        ),
    ] = "metro",
    graph: Graph = None,
    macro: Annotated[
        str | None,
        typer.Option(help="For the hi-lewm methods: made by metro train-macro."),
    ] = None,
    macro_steps: MacroSteps = None,
    option: Annotated[
        str | None,
        typer.Option(help="hi-lewm: box; hi-lewm-c and -staged: leave-one-out."),
    ] = None,
    goal_distance: Distance = 25,
    plan_blocks: PlanBlocks = None,
    waypoint_budget: WaypointBudget = None,
    step_budget: StepBudget = None,
    planner_seed: Annotated[
        list[int] | None,
        typer.Option(min=0, help="Of the micro planner; may be repeated."),
    ] = None,
    query_file: QueryPath = None,
    first: First = None,
    batch: Annotated[
        int | None,
        typer.Option(
            help="Queries planned, and kept, together; 25, of the hi-lewm methods 1."
        ),
    ] = None,
    workers: Workers = 1,
    device: Device = None,
    trust_pickle: TrustPickle = False,
    as_json: AsJson = False,
) -> None:
    """Plan queries in their world, and tell how many reach their goal.

    Rows that OUTPUT has already are not planned again: interrupted, the same command
    goes on. Queries whose world or process died are tried again.
    """
    require_worlds("evaluate")
    from metro.cli.terminal import success_bar
    from metro.evaluation.context import EvalConfig
    from metro.evaluation.grid import evaluate_grid
    from metro.evaluation.records import summarise
    from metro.evaluation.settings import choose_settings, find_queries
    from metro.planners.method_names import HIERARCHICAL_METHODS

    asked = find_queries(benchmark, goal_distance, query_file, first)
    source = EvalConfig(
        *(benchmark, corpus, model, graph, macro),
        trust_pickle=trust_pickle,
        device=device,
    )
    settings = choose_settings(
        source,
        method,
        plan_blocks=None if plan_blocks is None else [plan_blocks],
        waypoint_budgets=None if waypoint_budget is None else [waypoint_budget],
        step_budget=2 * goal_distance if step_budget is None else step_budget,
        planner_seeds=planner_seed or [7],
        macro_steps=macro_steps,
        option=option,
    )
    # Minutes a query: a Ctrl-C is not to lose more than one.
    usual = 1 if method in HIERARCHICAL_METHODS else 25
    with success_bar(f"{method}, h = {settings[0].plan_blocks}") as progress:
        rows = evaluate_grid(
            source,
            settings,
            asked,
            output,
            batch=usual if batch is None else batch,
            workers=workers,
            progress=progress,
        )
    summary = summarise(rows)
    if as_json:
        print_json(summary)
        return
    typer.echo(
        f"{benchmark}, {method}, h = {settings[0].plan_blocks}, "
        f"T = {settings[0].step_budget}: "
        f"{summary['solved']} of {summary['queries']} queries solved "
        f"({summary['success']:.0%}); {summary['presolved']} starts already were, "
        f"without them {summary['success_of_unsolved']:.0%}."
    )
    if summary["died"]:
        typer.echo(
            f"{summary['died']} of them died and count as not solved; their rows say "
            f"of what. The same command tries them again."
        )


@app.command()
def sweep(
    benchmark: BenchmarkName,
    corpus: Recording,
    model: Model,
    output: RowsPath,
    method: Annotated[
        str, typer.Option(help="metro, committed, flat, oracle or waypoints.")
    ] = "metro",
    graph: Graph = None,
    goal_distance: Distance = 75,
    plan_blocks: Annotated[
        str, typer.Option(help="Values of h: numbers and ranges, such as 1,3-5.")
    ] = "1-2",
    waypoint_budget: Annotated[
        str | None,
        typer.Option(help="Values of H likewise; 5 h - 5 to 5 h + 5 if not given."),
    ] = None,
    step_budget: Annotated[
        int | None, typer.Option(help="T; 4 d if not given, smaller ones are read off.")
    ] = None,
    planner_seed: Annotated[
        list[int] | None,
        typer.Option(min=0, help="Of the micro planner; may be repeated."),
    ] = None,
    query_file: QueryPath = None,
    first: First = None,
    batch: Batch = 25,
    workers: Workers = 1,
    device: Device = None,
    trust_pickle: TrustPickle = False,
    as_json: AsJson = False,
) -> None:
    """Plan queries for a grid of h, and of H where there is one; tell the best cells.

    Latents and neighbour table serve all cells, routes all cells of one H. Interrupted,
    the same command goes on.
    """
    require_worlds("sweep")
    from metro.analysis.grid_tables import COLUMNS, best_cells, grid
    from metro.cli.terminal import print_table, success_bar
    from metro.evaluation.context import EvalConfig
    from metro.evaluation.grid import evaluate_grid
    from metro.evaluation.settings import find_queries

    settings = grid(
        plan_blocks,
        waypoint_budget,
        step_budget=4 * goal_distance if step_budget is None else step_budget,
        planner_seeds=planner_seed or [7, 8, 9],
        method=method,
    )
    source = EvalConfig(
        *(benchmark, corpus, model, graph), trust_pickle=trust_pickle, device=device
    )
    asked = find_queries(benchmark, goal_distance, query_file, first)
    with success_bar(f"{len(settings)} runs") as progress:
        rows = evaluate_grid(
            source,
            settings,
            asked,
            output,
            batch=batch,
            workers=workers,
            progress=progress,
        )
    cells = best_cells(rows, goal_distance)
    if as_json:
        print_json([vars(cell) for cell in cells])
    else:
        caption = "* no other cell has more success in as little time"
        print_table(COLUMNS, [cell.to_text() for cell in cells], caption)
