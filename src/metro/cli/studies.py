"""The group study, and verbs of studies that plan nothing."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from metro.cli import options
from metro.cli.options import option
from metro.cli.reports import RowFiles
from metro.cli.root import PAPER, app, print_json, require_worlds

RESULTS = Path("results")


class Studies(TyperGroup):
    """The studies; an unknown name is an error that lists all names."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a study."""
        found = super().get_command(ctx, cmd_name)
        if found is None:
            from metro.errors import BenchmarkError
            from metro.studies.all_studies import find_study

            # Raises with all names if there is no such study at all.
            known = find_study(cmd_name)
            raise BenchmarkError(
                f"{known.name} has a command of its own: {known.command}"
            )
        return found


study = typer.Typer(cls=Studies, context_settings=app.info.context_settings)
app.add_typer(study, name="study", rich_help_panel=PAPER)


@study.callback(invoke_without_command=True)
def studies(
    context: typer.Context,
    results: Annotated[
        Path, option("Folder of the evaluation's rows, with studies/ inside.")
    ] = RESULTS,
    as_json: options.AsJson = False,
) -> None:
    """List the paper's other analyses: their questions, and how many rows they have."""
    if context.invoked_subcommand is not None:
        return
    from metro.cli.terminal import print_table
    from metro.errors import BenchmarkError
    from metro.report.study import count_rows
    from metro.studies.all_studies import STUDIES

    # The default folder may be absent: the list of questions helps without it.
    if results != RESULTS and not results.is_dir():
        raise BenchmarkError(f"There is no folder {results}. Give one with rows.")
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


@app.command(rich_help_panel=PAPER)
def saturation(
    latents: Annotated[
        list[Path], typer.Argument(metavar="LATENTS", help="Made by metro encode.")
    ],
    output: options.RowsPath,
    num_samples: Annotated[int, option("Pairs of frames at every distance.")] = 5_000,
    seed: options.Seed = 0,
    as_json: options.AsJson = False,
) -> None:
    """Measure how latent gaps grow with frames, d = 1 to 75, and when they stop.

    Writes one row for each of LATENTS; what OUTPUT already has is not measured again.
    """
    from metro.cli.terminal import progress_bar
    from metro.studies.saturation import NAME, run

    with progress_bar("Measuring gaps") as progress:
        rows = run(latents, output, num_samples, seed, progress)
    show_study(NAME, rows, as_json)


@study.command("offline-cost")
def offline_cost(
    benchmark: options.BenchmarkName,
    corpus: options.CorpusOption,
    model: options.Model,
    latents: Annotated[Path, option("Made by metro encode from corpus and model.")],
    output: options.RowsPath,
    macro: Annotated[
        str | None,
        options.model_option("Macro model made by metro train-macro on these latents."),
    ] = None,
    waypoint_budget: Annotated[int, option("H of the graph, frames.")] = 8,
    threads: Annotated[
        int, option("Threads of encoder and neighbour table.", least=1)
    ] = 1,
    device: Annotated[
        str | None, option("Device of the encoder. Default: cpu.")
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


@study.command("re-entry")
def re_entry(rows: RowFiles, as_json: options.AsJson = False) -> None:
    """Compare metro with and without re-entry, from rows of metro evaluate."""
    _show_evaluation("re-entry", rows, as_json)


@study.command("oracle")
def oracle(rows: RowFiles, as_json: options.AsJson = False) -> None:
    """Compare metro with the query's own recording, from rows of metro evaluate."""
    _show_evaluation("oracle", rows, as_json)


def _show_evaluation(name: str, files: Sequence[Path], as_json: bool) -> None:
    from metro.analysis.episode_results import load_records

    show_study(name, load_records(files), as_json)


def show_study(name: str, rows: Sequence[Any], as_json: bool) -> None:
    """Print a study's tables, without its plots."""
    from metro.report.document import Picture, Table, to_markdown
    from metro.studies.all_studies import find_study

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
