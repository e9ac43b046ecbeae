"""Verbs on recorded episodes: record, inspect, corpus, convert, encode."""

from pathlib import Path
from typing import Annotated

import typer

from metro.cli import options
from metro.cli.options import option
from metro.cli.root import DATA, app, print_json, require_worlds


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
def inspect(
    path: Annotated[
        str,
        typer.Argument(metavar="PATH", help="A graph, or recorded episodes."),
    ],
    as_json: options.AsJson = False,
    verify: options.Verify = False,
    camera: options.Camera = None,
) -> None:
    """Show what a graph, or recorded episodes of any format, consist of.

    Of a graph: how much of it routes can reach. Of recordings: the format, episodes,
    frames, columns, and which command comes next.
    """
    if _is_graph(path):
        _inspect_graph(path, as_json=as_json, verify=verify)
        return
    from metro.cli.terminal import print_table, spinner
    from metro.data.corpus import open_corpus
    from metro.data.describe import describe_corpus

    with (
        spinner(f"Inspecting {path}"),
        open_corpus(path, camera=camera, is_square=False) as recording,
    ):
        facts = describe_corpus(recording, camera)
    if as_json:
        print_json(facts)
    else:
        print_table(("", path), ((name, _shown(facts[name])) for name in facts))


def _is_graph(path: str) -> bool:
    place = Path(path)
    if place.suffix in (".metro", ".latents") or (place / "manifest.json").is_file():
        return True
    # A name without an end that is nowhere: nothing is looked for on the internet.
    return not place.exists() and not place.suffix and "://" not in path


def _inspect_graph(path: str, *, as_json: bool, verify: bool) -> None:
    from metro.cli.terminal import print_inspection, spinner
    from metro.core.inspect import inspect_graph
    from metro.storage.artefacts import load_graph

    with spinner(f"Inspecting {path}"):
        figures = inspect_graph(load_graph(path, verify=verify))
    if as_json:
        print_json(figures.to_json())
    else:
        print_inspection(figures, path)


@app.command(rich_help_panel=DATA)
def corpus(
    corpus: options.CorpusPath,
    frames: Annotated[
        bool,
        option(
            "Read every frame: tells whether two recordings have the same pixels, and "
            "names an episode that cannot be read.",
            "--frames",
        ),
    ] = False,
    as_json: options.AsJson = False,
) -> None:
    """Show what recorded episodes consist of, and the digests that identify them."""
    from metro.cli.terminal import print_table, progress_bar
    from metro.data.corpus import open_corpus

    with open_corpus(corpus) as recording:
        facts = {
            "episodes": recording.num_episodes,
            "frames": recording.num_frames,
            "frames per episode": [int(f(recording.lengths)) for f in (min, max)],
            "image size": recording.image_size,
            "columns": recording.columns,
            "recorded by metro": dict(recording.settings),
            "digest": recording.digest,
        }
        if frames:
            with progress_bar("Reading frames") as progress:
                facts["digest of all frames"] = recording.digest_frames(progress)
    if as_json:
        print_json(facts)
    else:
        print_table(("", corpus), ((name, _shown(facts[name])) for name in facts))


def _shown(what: object) -> str:
    """Return a figure, names, or settings as text."""
    if isinstance(what, dict):
        flat = {k: v for k, v in what.items() if not isinstance(v, dict)}
        return ", ".join(f"{name} {value}" for name, value in flat.items()) or "no"
    if what is None:
        return "none"
    return ", ".join(map(str, what)) if isinstance(what, list) else str(what)


@app.command(rich_help_panel=DATA)
def convert(
    corpus: options.CorpusPath,
    output: Annotated[Path, typer.Argument(metavar="OUT", help="HDF5 file to write.")],
    image_size: Annotated[
        int | None,
        option(
            "Pixels along a side: takes the square in the middle of every frame. "
            "Default: frames as they are.",
            least=1,
        ),
    ] = None,
    camera: options.Camera = None,
    force: options.Force = False,
) -> None:
    """Write recorded episodes of any format as HDF5, in the released layout.

    If it is interrupted, the same command resumes after the finished episodes.
    """
    from metro.cli.terminal import progress_bar
    from metro.data.convert import convert_corpus
    from metro.data.corpus import open_corpus

    with (
        open_corpus(corpus, camera=camera, is_square=False) as recording,
        progress_bar("Converting") as progress,
    ):
        convert_corpus(
            recording, output, image_size=image_size, progress=progress, force=force
        )
        typer.echo(
            f"{output}: {recording.num_episodes} episodes, {recording.num_frames} "
            f"frames. Next: metro inspect {output}"
        )


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
