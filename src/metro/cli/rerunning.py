"""The verb that runs the paper's experiments with what a user has: rerun."""

from pathlib import Path
from typing import Annotated

import typer

from metro.cli.options import (
    AsJson,
    Batch,
    BenchmarkName,
    Corpus,
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
    corpus: Corpus,
    model: Model,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for all that it makes.")
    ],
    macro: Annotated[
        str | None, typer.Option(help="Of Hi-LeWM; without it those are left out.")
    ] = None,
    goal_distance: Annotated[
        list[int] | None, typer.Option(help="d; may be repeated. 25, 50, 75.")
    ] = None,
    planner_seed: Annotated[
        list[int] | None, typer.Option(min=0, help="May be repeated. 7, 8, 9.")
    ] = None,
    first: First = None,
    batch: Batch = 25,
    workers: Workers = 1,
    device: Device = None,
    trust_pickle: TrustPickle = False,
    as_json: AsJson = False,
) -> None:
    """Run every cell of the paper for a model: encode, build, plan; tell both figures.

    For released models and recordings as for ours. Interrupted, the same command goes
    on.
    """
    require_worlds("rerun")
    from metro.analysis import reproduce as reproduction
    from metro.analysis.episode_results import load_records
    from metro.cli.terminal import print_table, success_bar
    from metro.evaluation.context import EvalConfig
    from metro.studies.rerun import Rerun, rerun

    source = EvalConfig(
        *(benchmark, corpus, model),
        macro=macro,
        trust_pickle=trust_pickle,
        device=device,
    )
    asked = Rerun(
        source,
        output,
        goal_distance or Rerun.goal_distances,
        planner_seed or Rerun.planner_seeds,
        first,
        batch,
        workers,
    )
    cells = rerun(asked, success_bar)
    checks = [
        check
        for check in reproduction.reproduce(load_records([asked.rows]))
        if check.paper in cells
    ]
    if as_json:
        print_json([check.to_json() for check in checks])
    else:
        print_table(reproduction.HEADER, reproduction.table_of(checks))
