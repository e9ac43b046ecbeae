"""Verbs on worlds and world models: record, train, encode, doctor, demo."""

from pathlib import Path
from typing import Annotated

import typer

from metro.cli.app import app, print_json, require_worlds
from metro.cli.options import AsJson, Force

DEMO_FOLDER = Path("out/demo")

BenchmarkName = Annotated[
    str, typer.Argument(metavar="BENCHMARK", help="tworoom, reacher, pusht or cube.")
]
CorpusPath = Annotated[
    str,
    typer.Argument(metavar="CORPUS", help="A recording, or a dataset's name for swm."),
]
Seed = Annotated[int, typer.Option(help="Of all randomness.")]
Workers = Annotated[
    int | None, typer.Option(help="Processes; as many as cores if not given.")
]


@app.command()
def record(
    benchmark: BenchmarkName,
    output: Annotated[Path, typer.Option("--output", "-o", help="HDF5 file to write.")],
    episodes: Annotated[int, typer.Option(help="How many.")] = 300,
    seed: Seed = 0,
    recipe: Annotated[
        str | None, typer.Option(help="How to act; the benchmark's first if not given.")
    ] = None,
    image_size: Annotated[
        int, typer.Option(help="Pixels along a side; released corpora have 224.")
    ] = 224,
    rendering: Annotated[
        str, typer.Option(help="stock, as released, or fast, for our small models.")
    ] = "stock",
    steps: Annotated[
        int | None, typer.Option(help="Environment steps of an episode, at most.")
    ] = None,
    workers: Workers = None,
    force: Force = False,
) -> None:
    """Record episodes of a benchmark, in the layout of the released corpora.

    The bytes depend on the settings alone. Interrupted, it goes on from the episodes
    that were finished.
    """
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
            workers=workers or os.cpu_count() or 1,
            progress=progress,
            force=force,
        )
    typer.echo(f"{output}: {episodes} episodes of {benchmark}.")


@app.command()
def train(
    benchmark: BenchmarkName,
    corpus: Annotated[
        str, typer.Option(help="A recording of it, made by metro record or released.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Model (.safetensors) to write.")
    ],
    family: Annotated[str, typer.Option(help="lewm or pldm: which loss.")] = "lewm",
    preset: Annotated[str, typer.Option(help="small, or paper: as published.")] = (
        "small"
    ),
    steps: Annotated[int, typer.Option(help="Optimiser steps.")] = 3_000,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Of all randomness; the preset's if not given."),
    ] = None,
    state_head: Annotated[
        str,
        typer.Option(help="Learn the true state too: none, warmup or throughout."),
    ] = "none",
    pixel_head: Annotated[
        str, typer.Option(help="Learn to draw a thumbnail too, likewise.")
    ] = "none",
    batch_size: Annotated[
        int | None, typer.Option(help="Clips in a step; the preset's if not given.")
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(help="Its peak; the preset's if not given.")
    ] = None,
    init: Annotated[
        str | None, typer.Option(help="A model to go on from (fine-tuning).")
    ] = None,
    part: Annotated[
        str, typer.Option(help="all, or predictor: the encoder of --init is kept.")
    ] = "all",
    rollout_blocks: Annotated[
        int, typer.Option(help="For the predictor alone: learn this many blocks ahead.")
    ] = 0,
    threads: Annotated[int, typer.Option(help="Of torch.")] = 1,
) -> None:
    """Train a world model on a recording; write it, its figures and its card.

    Interrupted, it goes on from its last checkpoint, bit for bit.
    """
    require_worlds("train")
    from dataclasses import replace

    from metro.benchmark import load_benchmark
    from metro.cli.terminal import progress_bar
    from metro.data.corpus import open_corpus
    from metro.models.pixel_cache import cache_pixels
    from metro.models.train import train_on_corpus
    from metro.models.train_config import TrainConfig, paper_config

    published = preset == "paper"
    recipe = (
        paper_config(family, steps=steps) if published else TrainConfig(family, steps)
    )
    recipe = replace(
        recipe,
        state_head=state_head,
        pixel_head=pixel_head,
        part=part,
        rollout_blocks=rollout_blocks,
        batch_size=recipe.batch_size if batch_size is None else batch_size,
        learning_rate=recipe.learning_rate if learning_rate is None else learning_rate,
        seed=recipe.seed if seed is None else seed,
        threads=threads,
    )
    with open_corpus(corpus) as recording, progress_bar("Reading frames") as progress:
        recording.require(load_benchmark(benchmark))
        cache_pixels(recording, progress=progress)
    with (
        open_corpus(corpus) as recording,
        progress_bar(f"Training {family}") as progress,
    ):
        run = train_on_corpus(
            recording,
            output,
            recipe=recipe,
            preset=preset,
            init=init,
            progress=progress,
        )
    typer.echo(run.card.read_text())


@app.command()
def encode(
    corpus: CorpusPath,
    model: Annotated[
        str,
        typer.Option(help="A shipped model's name, a file, a folder or a repository."),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Latents to write (NAME.latents).")
    ],
    device: Annotated[
        str | None, typer.Option(help="cpu, cuda, mps; the fastest if not given.")
    ] = None,
    trust_pickle: Annotated[
        bool,
        typer.Option("--trust-pickle", help="Load a pickled model: it can run code."),
    ] = False,
    force: Force = False,
) -> None:
    """Encode every frame of a recording with a frozen world model.

    Interrupted, it goes on from the frames that were finished.
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


@app.command()
def doctor(as_json: AsJson = False) -> None:
    """Check this machine: libraries, renderer, every world, models, disk."""
    from dataclasses import asdict

    from metro.cli.doctor import examine
    from metro.cli.terminal import print_findings, progress_bar

    with progress_bar("Examining") as progress:
        findings = examine(progress=progress)
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        print_findings(findings)
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


@app.command()
def demo(
    benchmark: Annotated[
        str,
        typer.Option(help="tworoom, in minutes; reacher, pusht, cube: longer."),
    ] = "tworoom",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Folder for all that it makes.")
    ] = DEMO_FOLDER,
    episodes: Annotated[
        int | None, typer.Option(help="To record; more is better.")
    ] = None,
    queries: Annotated[int, typer.Option(help="To plan, each in two ways.")] = 20,
    seed: Seed = 0,
) -> None:
    """Record a world, encode it, build the graph, and plan far goals with and without.

    Everything is real: pixels, world model, environment. What is there already is used
    again.
    """
    require_worlds("demo")
    from metro.cli.demo import run_demo

    run_demo(benchmark, output, episodes=episodes, queries=queries, seed=seed)
