"""The command line: one thin function a verb; results on stdout, progress on stderr."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from metro.errors import MetroError


class Interrupted(Exception):
    """Ctrl-C, on its way past typer, which would end the process without a word."""


class Verbs(TyperGroup):
    """The verbs of metro; Ctrl-C leaves them as `Interrupted`."""

    def invoke(self, ctx: Any) -> Any:
        """Run the verb that was asked for."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as error:
            raise Interrupted from error


app = typer.Typer(
    name="metro",
    cls=Verbs,
    help="Long-horizon planning with retrieved sub-goals, for frozen world models.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)

DEMO_GRAPH = Path("out/demo.metro")

GraphPath = Annotated[
    Path, typer.Argument(metavar="GRAPH", help="A graph made by metro build.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")]
Verify = Annotated[
    bool, typer.Option("--verify", help="Check the digests of all files first.")
]


def main() -> None:
    """Run the command line; an error of ours is one line on stderr and exit code 1."""
    try:
        app()
    except MetroError as error:
        sys.exit(_complain(str(error), 1))
    except (Interrupted, KeyboardInterrupt):
        sys.exit(_complain("Interrupted. The same command goes on from here.", 130))
    except MemoryError:
        sys.exit(_complain("Out of memory. Use a machine with more, or less data.", 1))
    except OSError as error:  # a disk or a terminal that failed under us
        sys.exit(_complain(str(error), 1))


@app.callback(invoke_without_command=True)
def root(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.")
    ] = False,
) -> None:
    """Long-horizon planning with retrieved sub-goals, for frozen world models."""
    if version:
        from metro import __version__

        typer.echo(f"metro-wm {__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        raise typer.Exit(2)


@app.command()
def build(
    latents: Annotated[
        Path,
        typer.Argument(metavar="LATENTS", help="Rows as .npz, .npy, .h5 or .latents."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="Graph to write.")],
    waypoint_budget: Annotated[
        int, typer.Option(help="H, frames that the micro planner reaches reliably.")
    ] = 8,
    num_neighbours: Annotated[
        int, typer.Option(help="k, look-alikes kept for every frame.")
    ] = 4,
    quantile: Annotated[float, typer.Option(help="α of the pricing curve.")] = 0.25,
    episode_lengths: Annotated[
        str | None,
        typer.Option(help="One length for all, or a .npy or text file of lengths."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Threads; as many as cores if not given.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace OUTPUT.")] = False,
) -> None:
    """Build a graph from latents: neighbour table, pricing curve, bridges.

    Interrupted, it goes on from the rows that were finished.
    """
    from metro import PricingCurve, build_graph, find_neighbours, save
    from metro._places import require_writable
    from metro.display import progress_bar, spinner
    from metro.reading import read_latents

    require_writable(output, force=force)
    corpus = read_latents(latents, episode_lengths)
    with progress_bar("Pricing curve") as progress:
        pricing = PricingCurve.fit(corpus, waypoint_budget, quantile, progress=progress)
    with progress_bar("Neighbour table") as progress:
        table = find_neighbours(
            corpus,
            num_neighbours,
            workers=workers,
            progress=progress,
            checkpoint=output.with_name(f".{output.name}.partial"),
        )
    graph = build_graph(corpus, table, pricing)
    with spinner(f"Writing {output}"):
        save(graph, output, force=force)
    typer.echo(
        f"{output}: {graph.num_frames} frames of {corpus.num_episodes} episodes, "
        f"{graph.num_bridges} bridges, H = {waypoint_budget}."
    )


@app.command()
def inspect(graph: GraphPath, as_json: AsJson = False, verify: Verify = False) -> None:
    """Show what a graph is made of, and how much of it routes can reach."""
    from metro import load
    from metro.display import print_inspection, spinner
    from metro.inspection import inspect_graph

    with spinner(f"Inspecting {graph}"):
        figures = inspect_graph(_require_graph(load(graph, verify=verify), graph))
    if as_json:
        _print_json(figures.to_json())
    else:
        print_inspection(figures, str(graph))


@app.command()
def route(
    graph: GraphPath,
    start: Annotated[int, typer.Option("--from", help="Frame to start from.")],
    goal: Annotated[int, typer.Option("--to", help="Frame whose latent is the goal.")],
    held_out: Annotated[
        int | None, typer.Option(help="Episode to leave out of the graph.")
    ] = None,
    as_json: AsJson = False,
    verify: Verify = False,
) -> None:
    """Tell the cheapest route between two frames, leg by leg."""
    from metro import find_routes, load
    from metro.display import print_journey
    from metro.itinerary import plan_journey

    network = _require_graph(load(graph, verify=verify), graph)
    latents = network.latents
    start = latents.require_frame("--from", start)
    goal = latents.require_frame("--to", goal)
    routes = find_routes(network, latents.z[goal], held_out=held_out)
    legs = plan_journey(routes, start)
    if as_json:
        _print_json(
            {
                "from": start,
                "to": goal,
                "held_out": held_out,
                "cost": legs[-1].total if legs else None,
                "legs": [leg.to_json() for leg in legs],
            }
        )
    else:
        print_journey(latents, start, goal, legs, held_out=held_out)


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
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Writes OUTPUT.json and OUTPUT.md.")
    ] = Path("out/bench"),
) -> None:
    """Measure metro and its peers on the same synthetic data, in one process."""
    from metro.bench import KINDS, plot_scaling, render, run_bench
    from metro.errors import GraphError

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
    )
    typer.echo(render(rows))
    if any(row["kind"] == "scaling" for row in rows):
        plot_scaling(rows, output.with_suffix(".png"))


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", "-o", help="Graph to write.")] = (
        DEMO_GRAPH
    ),
    force: Annotated[
        bool, typer.Option("--force", help="Replace OUTPUT; the default always is.")
    ] = False,
) -> None:
    """Plan across two rooms over synthetic episodes, and draw the route."""
    from metro._places import require_writable
    from metro.demo import run_demo

    force = force or output == DEMO_GRAPH
    require_writable(output, force=force)
    run_demo(output, force=force)


def _require_graph(artefact: Any, path: Path) -> Any:
    from metro.errors import StorageError
    from metro.graph import FrameGraph

    if not isinstance(artefact, FrameGraph):
        raise StorageError(
            f"{path} holds latents, not a graph. Make one: "
            f"metro build {path} -o {path.with_suffix('.metro')}"
        )
    return artefact


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, allow_nan=False))


def _complain(message: str, code: int) -> int:
    typer.echo(f"metro: {message}", err=True)
    return code
