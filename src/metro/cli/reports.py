"""Verbs that turn rows into tables and plots: report, reproduce."""

from pathlib import Path
from typing import Annotated

import typer

from metro.cli.options import AsJson
from metro.cli.root import EVALUATION, PAPER, app, print_json

RowFiles = Annotated[
    list[Path], typer.Argument(metavar="ROWS", help="Rows (.jsonl) of metro evaluate.")
]


@app.command(rich_help_panel=EVALUATION)
def report(
    rows: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[ROWS]",
            help="Rows (.jsonl) of metro evaluate, or folders of them with studies/, "
            "pictures/ and preface.md; results if not given.",
        ),
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder; an old report is replaced.")
    ] = Path("report"),
    as_json: AsJson = False,
) -> None:
    """Write rows as one HTML page that needs nothing else; as Markdown and PNG too.

    The paper's figures stand beside ours; what was not run is said, with the command
    that runs it. Without ROWS, in a clone of metro-wm, it is the page of that.
    """
    from metro.report.build import write_report
    from metro.report.inputs import gather
    from metro.report.overview import headline_rows
    from metro.studies.all_studies import STUDIES

    found = gather(rows or [Path("results")])
    written = write_report(found, output, STUDIES)
    if as_json:
        print_json(headline_rows(found.rows))
    else:
        text, page, *pictures = written
        typer.echo(
            f"{len(found.rows)} rows: wrote {page}, {text} and {len(pictures)} "
            f"pictures."
        )


@app.command(rich_help_panel=PAPER)
def reproduce(rows: RowFiles, as_json: AsJson = False) -> None:
    """Print every cell of the paper, what it reports, and what ROWS say.

    At the paper's h, H and T where it was run, else the best of our cells at the same
    d and T, else the command that would run it.
    """
    from metro.analysis import reproduce as reproduction
    from metro.analysis.episode_results import load_records
    from metro.cli.terminal import print_table

    checks = reproduction.reproduce(load_records(rows))
    if as_json:
        print_json([check.to_json() for check in checks])
        return
    print_table(reproduction.HEADER, reproduction.table_of(checks))
    # Results that differ only in T share a command.
    commands = dict.fromkeys(check.command for check in checks if check.command)
    if commands:
        typer.echo("\n".join(["", "To run what is missing:", *commands]))
