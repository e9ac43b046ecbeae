"""The verb that runs the paper's experiments with what a user has: rerun."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from metro.cli.options import (
    AsJson,
    BatchSize,
    BenchmarkName,
    CorpusOption,
    Device,
    First,
    Model,
    TrustPickle,
    Workers,
)
from metro.cli.root import PAPER, app, print_json, require_worlds


@app.command(rich_help_panel=PAPER)
def rerun(
    benchmark: BenchmarkName,
    corpus: CorpusOption,
    model: Model,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for everything it makes.")
    ],
    macro: Annotated[
        str | None,
        typer.Option(help="Macro model; without it the hi-lewm methods are left out."),
    ] = None,
    goal_distance: Annotated[
        list[int] | None,
        typer.Option(help="d; repeat it for several. Default: 25, 50, 75."),
    ] = None,
    planner_seed: Annotated[
        list[int] | None,
        typer.Option(
            min=0, help="Random seed of the micro planner; repeat it. Default: 7, 8, 9."
        ),
    ] = None,
    first: First = None,
    batch: BatchSize = 25,
    workers: Workers = 1,
    device: Device = None,
    trust_pickle: TrustPickle = False,
    as_json: AsJson = False,
) -> None:
    """Run the paper's experiments with a model, and show both results side by side.

    Encodes, builds the graph and plans, for released models and corpora as for ours.
    After an interruption, the same command resumes.
    """
    require_worlds("rerun")
    from metro.cli.terminal import success_bar
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
    _show(run(config, success_bar), config.rows, as_json)


def _show(wanted: Sequence[Any], rows: Path, as_json: bool) -> None:
    from metro.analysis import reproduce as reproduction
    from metro.analysis.episode_results import load_records
    from metro.cli.terminal import print_table

    checks = [
        check
        for check in reproduction.reproduce(load_records([rows]))
        # The folder may have rows of other distances, from earlier runs.
        if check.paper in wanted
    ]
    if as_json:
        print_json([check.to_json() for check in checks])
    else:
        print_table(reproduction.HEADER, reproduction.table_of(checks))
