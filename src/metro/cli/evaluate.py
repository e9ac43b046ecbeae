"""Verbs that plan queries and measure success: queries, evaluate, sweep."""

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from metro.cli import options
from metro.cli.options import option
from metro.cli.root import EVALUATION, app, print_json, require_worlds
from metro.planners.methods.metro import METRO


@app.command(rich_help_panel=EVALUATION)
def queries(
    benchmark: options.BenchmarkName,
    corpus: options.CorpusOption,
    output: Annotated[Path, option("Query file (.csv) to write.", "--output", "-o")],
    goal_distance: options.Distance = 25,
    count: Annotated[int, option("Number of queries.")] = 50,
    seed: options.Seed = 0,
    force: options.Force = False,
) -> None:
    """Draw queries from recorded episodes, and check each in its environment.

    Starts that already meet their goal are marked; so is the frame at which the
    recording itself first meets it.
    """
    require_worlds("queries")
    from metro.benchmark import load_benchmark
    from metro.cli.terminal import progress_bar
    from metro.data.corpus import open_corpus
    from metro.errors import BenchmarkError
    from metro.evaluation.draw_queries import draw_queries
    from metro.evaluation.queries import save_queries

    # Queries are drawn once and committed: a second draw must be asked for.
    if output.exists() and not force:
        raise BenchmarkError(f"{output} exists. Use --force to replace it.")
    with open_corpus(corpus) as recording, progress_bar("Drawing queries") as progress:
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
    typer.echo(f"{output}: {len(drawn)} queries, {solved} of them trivially solved.")


@app.command(rich_help_panel=EVALUATION)
def evaluate(
    benchmark: options.BenchmarkName,
    corpus: options.CorpusOption,
    model: options.Model,
    output: options.RowsPath,
    method: options.MethodName = METRO.name,
    graph: options.Graph = None,
    macro: options.Macro = None,
    macro_steps: options.MacroSteps = None,
    option: options.MethodOption = None,
    goal_distance: options.Distance = 25,
    plan_blocks: options.PlanBlocks = None,
    waypoint_budget: options.WaypointBudget = None,
    step_budget: options.StepBudget = None,
    planner_seed: options.PlannerSeeds = None,
    query_file: options.Queries = None,
    first: options.First = None,
    batch: Annotated[
        int | None,
        option("Number of queries planned together. Default: 25, and 1 for hi-lewm."),
    ] = None,
    workers: options.Workers = 1,
    device: options.Device = None,
    trust_pickle: options.TrustPickle = False,
    as_json: options.AsJson = False,
) -> None:
    """Plan queries in their environment, and print how many reach their goal.

    Rows that OUTPUT already has are not planned again, so that the same command resumes
    an interrupted run. Queries whose environment or process died are tried again.
    """
    require_worlds("evaluate")
    from metro.evaluation.context import EvalConfig
    from metro.evaluation.draw_queries import find_queries
    from metro.evaluation.records import summarise
    from metro.evaluation.settings import choose_settings

    queries = find_queries(benchmark, goal_distance, query_file, first)
    config = EvalConfig(
        benchmark, corpus, model, graph, macro, trust_pickle=trust_pickle, device=device
    )
    settings = choose_settings(
        config,
        method,
        goal_distance=goal_distance,
        plan_blocks=plan_blocks,
        waypoint_budget=waypoint_budget,
        step_budget=step_budget,
        # One seed for a quick answer; the paper's tables take three.
        planner_seeds=planner_seed or [7],
        macro_steps=macro_steps,
        option=option,
    )
    run = _Run(config, settings, queries, f"{method}, h = {settings[0].plan_blocks}")
    rows = run.plan(output, _batch(batch, method), workers)
    _print_summary(run, summarise(rows), as_json=as_json)


def _batch(chosen: int | None, method: str) -> int:
    from metro.planners.methods.registry import find_method

    # Hierarchical methods take minutes per query: Ctrl-C must not lose more than one.
    usual = 1 if find_method(method).needs_macro else 25
    return usual if chosen is None else chosen


class _Run(NamedTuple):
    """What is planned: settings and queries of one benchmark, and the bar's title."""

    config: Any
    settings: list[Any]
    queries: Any
    title: str

    def plan(self, output: Path, batch: int, workers: int) -> list[dict[str, Any]]:
        """Return the rows, planned now or read from ``output``; shows a bar."""
        from metro.cli.terminal import progress_bar
        from metro.evaluation.run import evaluate as plan_all

        parts = (self.config, self.settings, self.queries, output)
        with progress_bar(self.title) as progress:
            return plan_all(*parts, batch=batch, workers=workers, progress=progress)


def _print_summary(run: _Run, summary: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print_json(summary)
        return
    typer.echo(
        f"{run.config.benchmark}, {run.title}, T = {run.settings[0].step_budget}: "
        f"{summary['solved']} of {summary['queries']} queries solved "
        f"({summary['success']:.0%}). {summary['presolved']} starts were trivially "
        f"solved; without them {summary['success_of_unsolved']:.0%}."
    )
    if summary["died"]:
        typer.echo(
            f"{summary['died']} of them died and count as not solved; their rows give "
            f"the reason. The same command tries them again."
        )


@app.command(rich_help_panel=EVALUATION)
def sweep(
    benchmark: options.BenchmarkName,
    corpus: options.CorpusOption,
    model: options.Model,
    output: options.RowsPath,
    method: options.MethodName = METRO.name,
    graph: options.Graph = None,
    goal_distance: options.Distance = 75,
    plan_blocks: Annotated[
        str, option("Values of h: numbers and ranges, such as 1,3-5.")
    ] = "1-2",
    waypoint_budget: Annotated[
        str | None,
        option("Values of H, in the same form. Default: 5 h - 5 to 5 h + 5."),
    ] = None,
    step_budget: Annotated[
        int | None, option("T, environment steps per query. Default: 4 d.")
    ] = None,
    planner_seed: options.PlannerSeeds = None,
    query_file: options.Queries = None,
    first: options.First = None,
    batch: options.BatchSize = 25,
    workers: options.Workers = 1,
    device: options.Device = None,
    trust_pickle: options.TrustPickle = False,
    as_json: options.AsJson = False,
) -> None:
    """Plan queries for a grid of h, and of H where there is one; print the best of it.

    Latents and the neighbour table serve the whole grid, routes all of one H. Success
    within a smaller T is read off the same runs. The same command resumes an
    interrupted sweep.
    """
    require_worlds("sweep")
    from metro.analysis.grid_tables import COLUMNS, grid, grid_table
    from metro.cli.terminal import print_table
    from metro.evaluation.context import EvalConfig
    from metro.evaluation.draw_queries import find_queries

    settings = grid(
        plan_blocks,
        waypoint_budget,
        # The longest budget that is compared: smaller T are read off the same runs.
        step_budget=4 * goal_distance if step_budget is None else step_budget,
        planner_seeds=planner_seed or [7, 8, 9],
        method=method,
    )
    config = EvalConfig(
        benchmark, corpus, model, graph, trust_pickle=trust_pickle, device=device
    )
    queries = find_queries(benchmark, goal_distance, query_file, first)
    run = _Run(config, settings, queries, f"{len(settings)} runs")
    found = grid_table(run.plan(output, batch, workers), goal_distance)
    if as_json:
        print_json([vars(row) for row in found])
    else:
        caption = "* no other setting has more success in as little time"
        print_table(COLUMNS, [row.to_text() for row in found], caption)
