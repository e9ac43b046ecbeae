"""Verbs that set rows beside the paper: report, reproduce, rerun."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from metro.cli import options
from metro.cli.options import option
from metro.cli.root import EVALUATION, PAPER, app, print_json, require_worlds

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
        Path, option("Folder; an old report is replaced.", "--output", "-o")
    ] = Path("report"),
    as_json: options.AsJson = False,
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
def reproduce(rows: RowFiles, as_json: options.AsJson = False) -> None:
    """Print every cell of the paper, what it reports, and what ROWS say.

    At the paper's h, H and T where it was run, else the best of our cells at the same
    d and T, else the command that would run it.
    """
    checks = _show(rows, as_json)
    # Results that differ only in T share a command.
    commands = dict.fromkeys(check.command for check in checks if check.command)
    if commands and not as_json:
        typer.echo("\n".join(["", "To run what is missing:", *commands]))


def _show(
    rows: Sequence[Path], as_json: bool, wanted: Sequence[Any] | None = None
) -> list[Any]:
    """Print the paper's results, all or those that are wanted, beside ours."""
    from metro.analysis import reproduce as reproduction
    from metro.analysis.episode_results import load_records
    from metro.cli.terminal import print_table

    found = reproduction.reproduce(load_records(rows))
    checks = [one for one in found if wanted is None or one.paper in wanted]
    if as_json:
        print_json([check.to_json() for check in checks])
    else:
        print_table(reproduction.HEADER, map(reproduction.table_row, checks))
    return checks


@app.command(rich_help_panel=PAPER)
def rerun(
    benchmark: options.BenchmarkName,
    corpus: options.CorpusOption,
    model: options.Model,
    output: Annotated[
        Path, option("Folder for everything it makes.", "--output", "-o")
    ],
    macro: Annotated[
        str | None,
        options.model_option(
            "Macro model; without it the hi-lewm methods are left out."
        ),
    ] = None,
    goal_distance: Annotated[
        list[int] | None, option("d; repeat it for several. Default: 25, 50, 75.")
    ] = None,
    planner_seed: Annotated[
        list[int] | None,
        option(
            "Random seed of the micro planner; repeat it. Default: 7, 8, 9.", least=0
        ),
    ] = None,
    first: options.First = None,
    batch: options.BatchSize = 25,
    workers: options.Workers = 1,
    device: options.Device = None,
    trust_pickle: options.TrustPickle = False,
    as_json: options.AsJson = False,
) -> None:
    """Run the paper's experiments with a model, and show both results side by side.

    Encodes, builds the graph and plans, for released models and corpora as for ours.
    After an interruption, the same command resumes.
    """
    require_worlds("rerun")
    from metro.cli.terminal import progress_bar
    from metro.evaluation.context import EvalConfig
    from metro.studies.rerun import RerunConfig, run

    config = RerunConfig(
        EvalConfig(benchmark, corpus, model, None, macro, trust_pickle, device),
        output,
        # From the dataclass, so that a default is written once.
        goal_distances=goal_distance or RerunConfig.goal_distances,
        planner_seeds=planner_seed or RerunConfig.planner_seeds,
        first=first,
        batch=batch,
        workers=workers,
    )
    # The folder may have rows of other distances, from earlier runs.
    wanted = run(config, progress_bar)
    _show([config.rows], as_json, wanted)
