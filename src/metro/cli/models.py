"""Verbs that train: train, train-macro."""

from pathlib import Path
from typing import Annotated, Any

import typer

from metro.cli import options
from metro.cli.options import option
from metro.cli.root import MODELS, app, print_json, require_worlds

AuxiliaryLoss = "none, warmup (first steps only) or throughout."


@app.command(rich_help_panel=MODELS)
def train(
    benchmark: options.BenchmarkName,
    corpus: Annotated[
        str,
        options.corpus_option("Recorded episodes, by metro record or released."),
    ],
    output: options.ModelPath,
    family: Annotated[str, option("Training objective: lewm or pldm.")] = "lewm",
    preset: Annotated[
        str, option("Size of the network: small, or paper (as published).")
    ] = "small",
    steps: Annotated[int, option("Number of optimiser steps.")] = 3_000,
    seed: options.PresetSeed = None,
    state_head: Annotated[
        str, option(f"Also predict the true state: {AuxiliaryLoss}")
    ] = "none",
    pixel_head: Annotated[
        str, option(f"Also predict a thumbnail: {AuxiliaryLoss}")
    ] = "none",
    batch_size: Annotated[
        int | None, option("Sequences per step. Default: the preset's.")
    ] = None,
    learning_rate: Annotated[
        float | None, option("Peak learning rate. Default: the preset's.")
    ] = None,
    init: Annotated[
        str | None, options.model_option("Model to start from (fine-tuning).")
    ] = None,
    part: Annotated[
        str, option("Train all, or only the predictor on the encoder of --init.")
    ] = "all",
    rollout_blocks: Annotated[
        int, option("With --part predictor: action blocks predicted in a row.")
    ] = 0,
    threads: options.Threads = 1,
) -> None:
    """Train a world model on recorded episodes; write it, its metrics and its card.

    The same command resumes an interrupted training from its last checkpoint.
    """
    require_worlds("train")
    config = _train_config(
        family,
        preset,
        steps=steps,
        state_head=state_head,
        pixel_head=pixel_head,
        train_only=part,
        rollout_blocks=rollout_blocks,
        batch_size=batch_size,
        learning_rate=learning_rate,
        seed=seed,
        threads=threads,
    )
    typer.echo(_train(benchmark, corpus, output, config, preset=preset, init=init))


def _train_config(family: str, preset: str, *, steps: int, **options: Any) -> Any:
    """Return the preset's config with the options that were given."""
    from dataclasses import replace

    from metro.models.train_config import TrainConfig, paper_config

    # None means "not given": a preset has values of its own.
    make = paper_config if preset == "paper" else TrainConfig
    given = {name: value for name, value in options.items() if value is not None}
    return replace(make(family=family, steps=steps), **given)


def _train(
    benchmark: str,
    corpus: str,
    output: Path,
    config: Any,
    *,
    preset: str,
    init: str | None,
) -> str:
    """Return the card of a model trained on a corpus of ``benchmark``."""
    from metro.benchmark import load_benchmark
    from metro.cli.terminal import progress_bar
    from metro.data.corpus import open_corpus
    from metro.models.pixel_cache import cache_pixels
    from metro.models.train import train_on_corpus

    with open_corpus(corpus) as recording:
        recording.require(load_benchmark(benchmark))
        # Decoding is slow and the same for every epoch: once, to a file beside CORPUS.
        with progress_bar("Reading frames") as progress:
            cache_pixels(recording, progress=progress)
        with progress_bar(f"Training {config.family}") as progress:
            run = train_on_corpus(
                recording,
                output,
                config=config,
                preset=preset,
                init=init,
                progress=progress,
            )
    return run.card.read_text()


@app.command("train-macro", rich_help_panel=MODELS)
def train_macro(
    benchmark: options.BenchmarkName,
    corpus: Annotated[
        str,
        options.corpus_option("Recorded episodes that were encoded."),
    ],
    latents: Annotated[
        Path, option("Latents made by metro encode from CORPUS and MODEL.")
    ],
    model: options.Model,
    output: options.ModelPath,
    preset: Annotated[
        str, option("small (rate 1e-3), or paper: as published (5e-5).")
    ] = "small",
    epochs: Annotated[int, option("Number of epochs.")] = 15,
    seed: options.PresetSeed = None,
    threads: options.Threads = 1,
    metro_seconds: Annotated[
        float | None, option("Processor seconds metro took on this corpus, if known.")
    ] = None,
    measure: Annotated[bool, option("Measure those seconds now.", "--measure")] = False,
    device: options.Device = None,
    trust_pickle: options.TrustPickle = False,
    as_json: options.AsJson = False,
) -> None:
    """Train the macro model of Hi-LeWM on encoded latents, and print what it cost.

    The same command resumes an interrupted training from its last checkpoint.
    """
    require_worlds("train-macro")
    from metro.benchmark import load_benchmark
    from metro.data.corpus import open_corpus
    from metro.models.devices import choose_device
    from metro.models.loading import load_frozen
    from metro.models.macro.macro_train import MacroSource
    from metro.models.macro.training_cost import measure_offline
    from metro.storage.readers import read_latents

    frozen = load_frozen(model, trust_pickle=trust_pickle).to(choose_device(device))
    with open_corpus(corpus) as recording:
        recording.require(load_benchmark(benchmark))
        source = MacroSource(read_latents(latents), recording, frozen)
        # Before training, so that its report can compare both costs.
        if measure:
            metro_seconds = measure_offline(recording, frozen, source.latents).cpu
        options = {"epochs": epochs, "threads": threads, "seed": seed}
        run = _train_macro(source, output, preset, metro_seconds, options)
    if as_json:
        print_json({**run.metrics, "cost": run.cost, "path": str(run.path)})
    else:
        typer.echo(run.card.read_text())


def _train_macro(
    source: Any,
    output: Path,
    preset: str,
    metro_seconds: float | None,
    options: dict[str, int | None],
) -> Any:
    """Return a finished training; shows a bar."""
    from metro.cli.terminal import progress_bar
    from metro.models.macro.macro_train import train_macro_on_corpus
    from metro.models.train_config import macro_config_for

    given = {name: value for name, value in options.items() if value is not None}
    with progress_bar("Training the macro model") as progress:
        return train_macro_on_corpus(
            source,
            output,
            config=macro_config_for(preset, **given),
            preset=preset,
            metro_seconds=metro_seconds,
            progress=progress,
        )
