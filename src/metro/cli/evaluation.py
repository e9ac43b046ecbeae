"""Verbs that plan queries and measure success: evaluate, report, reproduce."""

from pathlib import Path
from typing import Annotated

import typer

from metro.cli.running import AsJson, app, print_json, require_worlds
from metro.cli.worlds import BenchmarkName

RowFiles = Annotated[
    list[Path], typer.Argument(metavar="ROWS", help="Rows (.jsonl) of metro evaluate.")
]


@app.command()
def evaluate(
    benchmark: BenchmarkName,
    corpus: Annotated[str, typer.Option(help="Recording that queries are taken from.")],
    model: Annotated[
        str,
        typer.Option(help="A shipped model's name, a file, a folder or a repository."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Rows (.jsonl) to append to.")
    ],
    method: Annotated[str, typer.Option(help="flat or metro.")] = "metro",
    graph: Annotated[
        Path | None, typer.Option(help="For metro: made by metro build.")
    ] = None,
    goal_distance: Annotated[int, typer.Option(help="d, frames to the goal.")] = 25,
    plan_blocks: Annotated[int, typer.Option(help="h, blocks of a micro plan.")] = 1,
    step_budget: Annotated[
        int | None, typer.Option(help="T, environment steps; 2 d if not given.")
    ] = None,
    planner_seed: Annotated[int, typer.Option(help="Of the micro planner.")] = 7,
    queries: Annotated[
        Path | None,
        typer.Option(help="CSV of episode,start,goal; the benchmark's if not given."),
    ] = None,
    batch: Annotated[int, typer.Option(help="Queries planned together.")] = 25,
    as_json: AsJson = False,
) -> None:
    """Plan queries in their world, and tell how many reach their goal.

    Rows that OUTPUT has already are not planned again: interrupted, the same command
    goes on.
    """
    require_worlds("evaluate")
    from metro import load
    from metro.display import progress_bar
    from metro.evaluation.benchmark import benchmarks_folder, load_benchmark
    from metro.evaluation.queries import load_queries
    from metro.evaluation.records import Setting, summarise
    from metro.integrations.corpora import open_corpus
    from metro.integrations.evaluating import Bench
    from metro.integrations.evaluating import evaluate as evaluate_queries
    from metro.integrations.models.loading import load_model

    chosen = load_benchmark(benchmark)
    asked = queries or (
        benchmarks_folder() / "queries" / f"{benchmark}-d{goal_distance}.csv"
    )
    network = None if graph is None else load(graph)
    budget = None if network is None else network.pricing.waypoint_budget
    setting = Setting(
        method, plan_blocks, budget, step_budget or 2 * goal_distance, planner_seed
    )
    with (
        open_corpus(corpus) as recording,
        progress_bar(f"{method}, h = {plan_blocks}") as progress,
    ):
        bench = Bench(chosen, recording, load_model(model), network)
        rows = evaluate_queries(
            bench,
            setting,
            load_queries(asked),
            output,
            batch=batch,
            progress=lambda done, total, _: progress(done, total),
        )
    summary = summarise(rows)
    if as_json:
        print_json(summary)
    else:
        typer.echo(
            f"{benchmark}, {method}, h = {plan_blocks}, T = {setting.step_budget}: "
            f"{summary['solved']} of {summary['queries']} queries solved "
            f"({summary['success']:.0%}); {summary['presolved']} starts already were, "
            f"without them {summary['success_of_unsolved']:.0%}."
        )


@app.command()
def report(
    rows: RowFiles,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder; an old report is replaced.")
    ] = Path("report"),
    as_json: AsJson = False,
) -> None:
    """Write tables and plots of rows: report.html, report.md and PNG files.

    The paper's figures stand beside ours; what was not run is said.
    """
    from metro.evaluation.outcomes import load_rows
    from metro.evaluation.report import headline_rows, write_report

    found = load_rows(rows)
    written = write_report(found, output)
    if as_json:
        print_json(headline_rows(found))
    else:
        text, page, *plots = written
        typer.echo(f"{len(found)} rows: wrote {page}, {text} and {len(plots)} plots.")


@app.command()
def reproduce(rows: RowFiles, as_json: AsJson = False) -> None:
    """Print every cell of the paper, what it reports, and what ROWS say.

    At the paper's h, H and T where it was run, else the best of our cells at the same
    d and T, else the command that would run it.
    """
    from metro.display import print_table
    from metro.evaluation import reproduction
    from metro.evaluation.outcomes import load_rows

    checks = reproduction.reproduce(load_rows(rows))
    if as_json:
        print_json([check.to_json() for check in checks])
        return
    print_table(reproduction.HEADER, reproduction.table_of(checks))
    commands = dict.fromkeys(check.command for check in checks if check.command)
    if commands:
        typer.echo("\n".join(["", "To run what is missing:", *commands]))
