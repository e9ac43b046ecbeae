"""Verbs about this machine and this package: demo, doctor, bench."""

import sys
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import typer

from metro.cli import options
from metro.cli.options import option
from metro.cli.root import START, app, print_json, require_worlds
from metro.errors import GraphError, MissingExtra

DEMO_FOLDER = Path("out/demo")


@app.command(rich_help_panel=START)
def doctor(as_json: options.AsJson = False) -> None:
    """Check this machine: libraries, renderer, every environment, models, disk."""
    from dataclasses import asdict

    from metro.cli.doctor import examine
    from metro.cli.terminal import print_findings, progress_bar

    with progress_bar("Examining") as progress:
        findings = examine(progress=progress)
    if as_json:
        print_json([asdict(finding) for finding in findings])
    else:
        print_findings(findings)
    # Scripts see from the exit code whether all is well.
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


@app.command(rich_help_panel=START)
def demo(
    benchmark: Annotated[
        str | None,
        option("Benchmark to show; tworoom (default) takes minutes, others longer."),
    ] = None,
    output: Annotated[
        Path, option("Folder for everything the demo makes.", "--output", "-o")
    ] = DEMO_FOLDER,
    episodes: Annotated[
        int | None, option("Number of episodes to record; more is better.")
    ] = None,
    queries: Annotated[
        int, option("Number of queries to plan, each in two ways.")
    ] = 20,
    seed: options.Seed = 0,
) -> None:
    """Record a world, encode it, build the graph, and plan far goals with and without.

    Everything is real: pixels, world model, environment. A second run reuses what the
    first one made.
    """
    require_worlds("demo")
    from metro.cli.demo import run_demo

    run_demo(benchmark, output, episodes=episodes, queries=queries, seed=seed)


@app.command(rich_help_panel=START)
def bench(
    kinds: Annotated[
        list[str] | None,
        typer.Argument(metavar="KINDS", help="table, search, entry, scaling; or all."),
    ] = None,
    num_frames: Annotated[int, option("Number of frames in the corpus.")] = 200_000,
    state_dim: Annotated[
        str, option("Intrinsic dimension of synthetic latents (2, 5, ...), or noise.")
    ] = "5",
    noise: Annotated[
        float, option("Standard deviation of white noise added to the latents.")
    ] = 0.0,
    seed: options.Seed = 0,
    threads: Annotated[int, option("Number of threads, ours and the peers'.")] = 1,
    latents: Annotated[
        Path | None, option("Recorded latents to use instead of synthetic ones.")
    ] = None,
    output: Annotated[
        Path, option("Writes OUTPUT.json and OUTPUT.md.", "--output", "-o")
    ] = Path("out/bench"),
) -> None:
    """Measure metro and its peers on the same data, in one process."""
    perf = _import_perf()
    if state_dim != "noise" and not state_dim.isdigit():
        raise GraphError(f"--state-dim must be a number or noise, got {state_dim!r}.")
    rows = perf.run_bench(
        kinds or perf.KINDS,
        num_frames,
        "noise" if state_dim == "noise" else int(state_dim),
        noise,
        seed,
        threads,
        output,
        # Progress goes to stderr: stdout has the table alone.
        lambda line: typer.echo(line, err=True),
        latents,
    )
    typer.echo(perf.render(rows))
    if any(row["kind"] == "scaling" for row in rows):
        perf.plot_scaling(rows, output.with_suffix(".png"))


def _import_perf() -> Any:
    """Return the package ``perf`` of the clone that metro is run from.

    It is beside ``src/``, outside the wheel, and an installed entry script does not
    have the clone's root on its path.
    """
    root = Path(__file__).parents[3]
    if not (root / "perf" / "__init__.py").is_file():
        raise MissingExtra(
            "metro bench needs a clone of the repository, because perf/ is not in the "
            "package: clone it, then pip install -e . there."
        )
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return import_module("perf")
