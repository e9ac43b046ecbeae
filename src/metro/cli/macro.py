"""Verbs of the hierarchical baselines: train-macro."""

from pathlib import Path
from typing import Annotated

import typer

from metro.cli.app import app, print_json, require_worlds
from metro.cli.options import AsJson
from metro.cli.worlds import BenchmarkName


@app.command("train-macro")
def train_macro(
    benchmark: BenchmarkName,
    corpus: Annotated[str, typer.Option(help="The recording that was encoded.")],
    latents: Annotated[
        Path, typer.Option(help="Its latents, made by metro encode with MODEL.")
    ],
    model: Annotated[
        str, typer.Option(help="The frozen world model: a shipped name or a file.")
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Model (.safetensors) to write.")
    ],
    preset: Annotated[
        str, typer.Option(help="small (rate 1e-3), or paper: as published (5e-5).")
    ] = "small",
    epochs: Annotated[int, typer.Option(help="Visits to every window.")] = 15,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Of all randomness; the preset's if not given."),
    ] = None,
    threads: Annotated[int, typer.Option(help="Of torch.")] = 1,
    metro_seconds: Annotated[
        float | None,
        typer.Option(help="Metro's processor time on this corpus, seconds."),
    ] = None,
    measure: Annotated[
        bool, typer.Option("--measure", help="Measure those seconds now.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Train the macro model of Hi-LeWM on cached latents; tell what it cost.

    Interrupted, it goes on from its last checkpoint, bit for bit.
    """
    require_worlds("train-macro")
    from metro.benchmark import load_benchmark
    from metro.cli.terminal import progress_bar
    from metro.data.corpus import open_corpus
    from metro.models.loading import load_frozen
    from metro.models.macro.macro_config import recipe_for
    from metro.models.macro.macro_train import MacroSource, train_macro_on_corpus
    from metro.models.macro.offline_cost import measure_offline
    from metro.storage.readers import read_latents

    changes = {} if seed is None else {"seed": seed}
    recipe = recipe_for(preset, epochs=epochs, threads=threads, **changes)
    with open_corpus(corpus) as recording:
        recording.require(load_benchmark(benchmark))
        source = MacroSource(read_latents(latents), recording, load_frozen(model))
        if measure:
            metro_seconds = measure_offline(recording, source.model, source.latents).cpu
        with progress_bar("Training the macro model") as progress:
            run = train_macro_on_corpus(
                source,
                output,
                recipe=recipe,
                preset=preset,
                metro_seconds=metro_seconds,
                progress=progress,
            )
    if as_json:
        print_json({**run.figures, "cost": run.cost.to_json(), "path": str(run.path)})
    else:
        typer.echo(run.card.read_text())
