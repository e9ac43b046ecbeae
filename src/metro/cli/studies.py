"""Verbs of the paper's other analyses: saturation, study."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from metro.cli.app import app, print_json
from metro.cli.evaluate import RowsPath
from metro.cli.options import AsJson
from metro.cli.reporting import RowFiles

RESULTS = Path("results")


class Studies(TyperGroup):
    """The studies; a name that nobody knows is an error that tells all names."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command of a study."""
        found = super().get_command(ctx, cmd_name)
        if found is None:
            from metro.errors import BenchmarkError
            from metro.studies.registry import find_study

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
    from metro.cli.terminal import print_table
    from metro.errors import BenchmarkError
    from metro.report.study import count_rows
    from metro.studies.registry import STUDIES

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


@app.command()
def saturation(
    latents: Annotated[
        list[Path], typer.Argument(metavar="LATENTS", help="Made by metro encode.")
    ],
    output: RowsPath,
    num_samples: Annotated[int, typer.Option(help="Pairs at every distance.")] = 5_000,
    seed: Annotated[int, typer.Option(min=0, help="Of the pairs.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Measure how latent gaps grow with frames, d = 1 to 75, and when they stop.

    A row for each of LATENTS; those that OUTPUT has already are not measured again.
    """
    from metro.cli.terminal import progress_bar
    from metro.errors import BenchmarkError
    from metro.evaluation.records import append_records, read_records
    from metro.storage.readers import read_latents
    from metro.studies.saturation import (
        SATURATION,
        describe_latents,
        measure_row,
        question_of,
    )

    if num_samples < 1 or seed < 0:
        raise BenchmarkError(
            f"--num-samples must be 1 or more and --seed 0 or more, got {num_samples} "
            f"and {seed}."
        )
    done = {question_of(row): row for row in read_records(output)}
    rows = []
    with progress_bar("Measuring gaps") as progress:
        for number, path in enumerate(latents, start=1):
            corpus = read_latents(path)
            told = describe_latents(corpus, num_samples=num_samples, seed=seed)
            if question_of(told) not in done:
                done[question_of(told)] = measure_row(corpus, told)
                append_records([done[question_of(told)]], output)
            rows.append(done[question_of(told)])
            progress(number, len(latents))
    show_study(SATURATION.name, rows, as_json)


@study.command("re-entry")
def re_entry(rows: RowFiles, as_json: AsJson = False) -> None:
    """Tell metro with and without re-entry, from rows of metro evaluate."""
    _show_evaluation("re-entry", rows, as_json)


@study.command("oracle")
def oracle(rows: RowFiles, as_json: AsJson = False) -> None:
    """Tell metro beside the query's own recording, from rows of metro evaluate."""
    _show_evaluation("oracle", rows, as_json)


def _show_evaluation(name: str, files: Sequence[Path], as_json: bool) -> None:
    from metro.analysis.episode_results import load_records

    show_study(name, load_records(files), as_json)


def show_study(name: str, rows: Sequence[Any], as_json: bool) -> None:
    """Print a study's tables, without its plots."""
    from metro.report.document import Picture, Table, to_markdown
    from metro.studies.registry import find_study

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
