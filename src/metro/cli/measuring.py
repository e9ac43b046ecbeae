"""Verbs that measure: bench."""

from pathlib import Path
from typing import Annotated

import typer

from metro.cli.app import app


@app.command()
def bench(
    kinds: Annotated[
        list[str] | None,
        typer.Argument(metavar="KINDS", help="table, search, entry, scaling; or all."),
    ] = None,
    num_frames: Annotated[int, typer.Option(help="Frames of the corpus.")] = 200_000,
    state_dim: Annotated[
        str, typer.Option(help="Intrinsic dimension (2, 5 or more), or noise.")
    ] = "5",
    noise: Annotated[float, typer.Option(help="White noise on the latents.")] = 0.0,
    seed: Annotated[int, typer.Option(help="Of data and queries.")] = 0,
    threads: Annotated[int, typer.Option(help="Of ours and of the peers.")] = 1,
    latents: Annotated[
        Path | None, typer.Option(help="Recorded ones, instead of synthetic data.")
    ] = None,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Writes OUTPUT.json and OUTPUT.md.")
    ] = Path("out/bench"),
) -> None:
    """Measure metro and its peers on the same data, in one process."""
    from metro.errors import GraphError
    from perf import KINDS, plot_scaling, render, run_bench

    if state_dim != "noise" and not state_dim.isdigit():
        raise GraphError(f"--state-dim must be a number or noise, got {state_dim!r}.")
    rows = run_bench(
        kinds or KINDS,
        num_frames,
        "noise" if state_dim == "noise" else int(state_dim),
        noise,
        seed,
        threads,
        output,
        lambda line: typer.echo(line, err=True),
        latents,
    )
    typer.echo(render(rows))
    if any(row["kind"] == "scaling" for row in rows):
        plot_scaling(rows, output.with_suffix(".png"))
