"""Verbs of the paper's other analyses: saturation, study."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from metro.cli.evaluation import Batch, Distance, Model, QueryPath, Recording, RowsPath
from metro.cli.evaluation import Workers as NumWorkers
from metro.cli.reporting import RowFiles
from metro.cli.running import AsJson, app, print_json, require_worlds
from metro.cli.worlds import BenchmarkName

RESULTS = Path("docs/results")

GraphPath = Annotated[Path, typer.Option(help="Made by metro build, of any H.")]
PlanBlocks = Annotated[int, typer.Option(help="h of metro.")]
WaypointBudget = Annotated[
    int | None, typer.Option(help="H, frames; the graph's if not given.")
]
StepBudget = Annotated[
    int | None, typer.Option(help="T, environment steps; 2 d if not given.")
]
PlannerSeeds = Annotated[
    list[int] | None, typer.Option(help="Of the micro planner; may be repeated.")
]
First = Annotated[
    int | None, typer.Option(help="Only so many queries, from the first on.")
]
Known = Annotated[
    list[Path] | None,
    typer.Option(help="Rows of metro evaluate; what they answer is not planned again."),
]


class Studies(TyperGroup):
    """The studies; a name that nobody knows is an error that tells all names."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a study."""
        found = super().get_command(ctx, cmd_name)
        if found is None:
            from metro.errors import BenchmarkError
            from metro.evaluation.studies.registry import find_study

            known = find_study(cmd_name)
            raise BenchmarkError(f"{known.name} is run by itself: {known.command}")
        return found


study = typer.Typer(cls=Studies, context_settings=app.info.context_settings)
app.add_typer(study, name="study")


@study.callback(invoke_without_command=True)
def studies(
    context: typer.Context,
    results: Annotated[
        Path,
        typer.Option(help="Folder of the evaluation's rows, with studies/ inside."),
    ] = RESULTS,
    as_json: AsJson = False,
) -> None:
    """List the paper's other analyses: what each asks, and whether it has rows."""
    if context.invoked_subcommand is not None:
        return
    from metro.display import print_table
    from metro.evaluation.studies.registry import STUDIES
    from metro.evaluation.studies.study import count_rows

    counts = [count_rows(study, results) for study in STUDIES]
    found = zip(STUDIES, counts, strict=True)
    if as_json:
        names = ("name", "question", "command", "reads_evaluation")
        print_json(
            [
                {name: getattr(study, name) for name in names} | {"rows": number}
                for study, number in found
            ]
        )
        return
    shown = [
        (study.name, study.question, str(number or "none")) for study, number in found
    ]
    print_table(("study", "question", "rows"), shown)


@app.command()
def saturation(
    latents: Annotated[
        list[Path], typer.Argument(metavar="LATENTS", help="Made by metro encode.")
    ],
    output: RowsPath,
    num_samples: Annotated[int, typer.Option(help="Pairs at every distance.")] = 5_000,
    seed: Annotated[int, typer.Option(help="Of the pairs.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Measure how latent gaps grow with frames, d = 1 to 75, and when they stop.

    A row for each of LATENTS; those that OUTPUT has already are not measured again.
    """
    from metro.display import progress_bar
    from metro.errors import BenchmarkError
    from metro.evaluation.records import append_rows, read_rows
    from metro.evaluation.studies.saturation import (
        SATURATION,
        describe_latents,
        measure_row,
        question_of,
    )
    from metro.reading import read_latents

    if num_samples < 1 or seed < 0:
        raise BenchmarkError(
            f"--num-samples must be 1 or more and --seed 0 or more, got {num_samples} "
            f"and {seed}."
        )
    done = {question_of(row): row for row in read_rows(output)}
    rows = []
    with progress_bar("Measuring gaps") as progress:
        for number, path in enumerate(latents, start=1):
            corpus = read_latents(path)
            told = describe_latents(corpus, num_samples=num_samples, seed=seed)
            if question_of(told) not in done:
                done[question_of(told)] = measure_row(corpus, told)
                append_rows([done[question_of(told)]], output)
            rows.append(done[question_of(told)])
            progress(number, len(latents))
    _show(SATURATION.name, rows, as_json)


@study.command("re-entry")
def re_entry(rows: RowFiles, as_json: AsJson = False) -> None:
    """Tell metro with and without re-entry, from rows of metro evaluate."""
    _show_evaluation("re-entry", rows, as_json)


@study.command("oracle")
def oracle(rows: RowFiles, as_json: AsJson = False) -> None:
    """Tell metro beside the query's own recording, from rows of metro evaluate."""
    _show_evaluation("oracle", rows, as_json)


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
    subset_seed: Annotated[int, typer.Option(help="Of which episodes.")] = 0,
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
    from metro.display import success_bar
    from metro.evaluation.studies.corpus_size import SHARES
    from metro.integrations.querying import choose_settings
    from metro.integrations.studies.corpus_size import PartSource, run_corpus_size

    asked = _queries(benchmark, goal_distance, query_file, first)
    sources = [
        PartSource(benchmark, corpus, model, graph, share=one, subset_seed=subset_seed)
        for one in share or SHARES
    ]
    settings = choose_settings(
        sources[0],
        "metro",
        plan_blocks=[plan_blocks],
        waypoint_budgets=None if waypoint_budget is None else [waypoint_budget],
        step_budget=step_budget or 2 * goal_distance,
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
    _show("corpus-size", rows, as_json)


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
    from metro.display import success_bar
    from metro.integrations.querying import choose_settings
    from metro.integrations.studies.micro_planner import (
        ModelSource,
        choose_methods,
        run_micro_planner,
        settings_of,
    )

    asked = _queries(benchmark, goal_distance, query_file, first)
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
        step_budget=step_budget or 2 * goal_distance,
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
    _show("micro-planner", rows, as_json)


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
    threads: Annotated[int, typer.Option(help="Of encoder and neighbour table.")] = 1,
    as_json: AsJson = False,
) -> None:
    """Measure encode, table and graph of a corpus, beside a macro model's training.

    What OUTPUT has already is not measured again.
    """
    require_worlds("study offline-cost")
    from metro.display import spinner
    from metro.evaluation.benchmark import load_benchmark
    from metro.evaluation.records import append_rows, read_rows
    from metro.evaluation.studies.offline_cost import question_of
    from metro.integrations.corpora import open_corpus
    from metro.integrations.models.loading import load_model
    from metro.integrations.studies.offline_cost import (
        Subject,
        describe_cost,
        measure_row,
    )
    from metro.reading import read_latents

    with open_corpus(corpus) as recording:
        recording.require(load_benchmark(benchmark))
        subject = Subject(recording, load_model(model), read_latents(latents))
        told = describe_cost(
            subject, macro, waypoint_budget=waypoint_budget, threads=threads
        )
        done = {question_of(row): row for row in read_rows(output)}
        if question_of(told) not in done:
            with spinner("Measuring encode, table and graph"):
                done[question_of(told)] = measure_row(subject, told)
            append_rows([done[question_of(told)]], output)
    _show("offline-cost", [done[question_of(told)]], as_json)


def _rows(files: Sequence[Path] | None) -> list[Any]:
    from metro.evaluation.outcomes import load_rows

    return load_rows(files or [])


def _queries(
    benchmark: str, goal_distance: int, path: Path | None, first: int | None
) -> Any:
    """Return the queries of a file, or the benchmark's own; perhaps the first few."""
    from dataclasses import replace

    from metro.errors import BenchmarkError
    from metro.integrations.querying import find_queries

    asked = find_queries(benchmark, goal_distance, path)
    if first is not None and not 1 <= first <= len(asked):
        raise BenchmarkError(
            f"--first must be 1 to {len(asked)}, the queries of {asked.name}; got "
            f"{first}."
        )
    return replace(asked, queries=asked.queries[:first])


def _show_evaluation(name: str, files: Sequence[Path], as_json: bool) -> None:
    from metro.evaluation.outcomes import load_rows

    _show(name, load_rows(files), as_json)


def _show(name: str, rows: Sequence[Any], as_json: bool) -> None:
    """Print a study's tables, without its plots."""
    from metro.evaluation.document import Picture, Table, to_markdown
    from metro.evaluation.studies.registry import find_study

    blocks = find_study(name).render(rows).blocks
    if as_json:
        tables = [block for block in blocks if isinstance(block, Table)]
        print_json(
            [
                dict(zip(table.header, line, strict=True))
                for table in tables
                for line in table.rows
            ]
        )
        return
    shown = [block for block in blocks if not isinstance(block, Picture)]
    typer.echo(to_markdown(shown), nl=False)
