"""Verbs on recorded episodes: record, encode."""

from pathlib import Path
from typing import Annotated

import typer

from metro.cli import options
from metro.cli.options import option
from metro.cli.root import DATA, app, require_worlds


@app.command(rich_help_panel=DATA)
def record(
    benchmark: options.BenchmarkName,
    output: Annotated[Path, option("HDF5 file to write.", "--output", "-o")],
    episodes: Annotated[int, option("Number of episodes.")] = 300,
    seed: options.Seed = 0,
    recipe: Annotated[
        str | None,
        option(
            "How the recorded episodes act; docs/worlds-and-models.md lists the "
            "recipes. Default: the benchmark's first."
        ),
    ] = None,
    image_size: Annotated[
        int, option("Pixels along a side; released corpora have 224.")
    ] = 224,
    rendering: Annotated[
        str, option("stock, as released, or fast, for our small models.")
    ] = "stock",
    steps: Annotated[
        int | None, option("Most environment steps per episode. Default: as released.")
    ] = None,
    workers: options.AllWorkers = None,
    force: options.Force = False,
) -> None:
    """Record episodes of a benchmark, in the layout of the released corpora.

    The bytes depend on the settings alone, not on workers or interruptions. If it is
    interrupted, the same command resumes after the finished episodes.
    """
    # Heavy imports happen inside verbs, so that `metro --help` answers at once.
    require_worlds("record")
    import os

    from metro.benchmark import load_benchmark
    from metro.cli.terminal import progress_bar
    from metro.data.collect.record import record as record_corpus

    chosen = load_benchmark(benchmark)
    with progress_bar(f"Recording {benchmark}") as progress:
        record_corpus(
            chosen,
            output,
            episodes=episodes,
            seed=seed,
            recipe=recipe,
            image_size=image_size,
            rendering=rendering,
            steps=steps,
            # Python does not know the number of cores on every system.
            workers=workers or os.cpu_count() or 1,
            progress=progress,
            force=force,
        )
    typer.echo(f"{output}: {episodes} episodes of {benchmark}.")


@app.command(rich_help_panel=DATA)
def encode(
    corpus: options.CorpusPath,
    model: options.Model,
    output: Annotated[
        Path, option("Latents to write (NAME.latents).", "--output", "-o")
    ],
    device: options.Device = None,
    trust_pickle: options.TrustPickle = False,
    force: options.Force = False,
) -> None:
    """Encode every recorded frame with a frozen world model.

    If it is interrupted, the same command resumes after the finished frames.
    """
    require_worlds("encode")
    from metro.cli.terminal import progress_bar
    from metro.data.corpus import open_corpus
    from metro.data.encode import encode_corpus
    from metro.models.loading import load_model

    frozen = load_model(model, trust_pickle=trust_pickle)
    with open_corpus(corpus) as recording, progress_bar("Encoding") as progress:
        done = encode_corpus(
            recording, frozen, output, device=device, progress=progress, force=force
        )
    share = done.share_of_peak
    typer.echo(
        f"{output}: {done.latents.num_frames} latents of {done.latents.dim} numbers, "
        f"{done.frames_per_second:,.0f} frames/s on {done.device}"
        + (f", {share:.0%} of its peak." if share is not None else ".")
    )
